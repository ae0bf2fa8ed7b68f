-- One row for each pair of hosts: what became of its packets, and their one-way delays. Quantiles are values that occurred.
WITH ranked AS (
    SELECT *,
        ROW_NUMBER() OVER (PARTITION BY host, flow, delay IS NULL OR outcome = 'duplicate' ORDER BY delay) AS place,
        COUNT(*) OVER (PARTITION BY host, flow, delay IS NULL OR outcome = 'duplicate') AS places
    FROM delays
)
SELECT
    host,
    MAX(peer) AS peer,
    flow,
    COUNT(CASE WHEN outcome <> 'duplicate' THEN 1 END) AS sent,
    COUNT(CASE WHEN outcome = 'missing' THEN 1 END) AS missing,
    COUNT(CASE WHEN outcome = 'duplicate' THEN 1 END) AS duplicate,
    COUNT(CASE WHEN outcome = 'reordered' THEN 1 END) AS reordered,
    MIN(delay) AS least,
    MIN(CASE WHEN delay IS NOT NULL AND outcome <> 'duplicate' AND place * 2 >= places THEN delay END) AS median,
    MIN(CASE WHEN delay IS NOT NULL AND outcome <> 'duplicate' AND place * 100 >= places * 99 THEN delay END) AS p99,
    MAX(delay) AS most,
    MAX(error_bound) AS error_bound
FROM ranked
GROUP BY host, flow
ORDER BY host, flow
