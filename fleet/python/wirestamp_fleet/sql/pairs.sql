-- One row for each pair of hosts and flow: what became of its packets, and their one-way delays. Quantiles are values that occurred;
-- how they are found is the engine's. `unmatched` counts receive timestamps at other hosts that no sent packet fits: all of a
-- flow, if a clock is days off.
WITH received AS (
    SELECT host, flow, COUNT(*) AS packets FROM timestamps
    WHERE direction = 'rx' AND utc(ticks, utc_minus_ticks) IS NOT NULL GROUP BY host, flow
),
flows AS (
    SELECT
        host,
        MAX(peer) AS peer,
        flow,
        COUNT(CASE WHEN outcome <> 'duplicate' THEN 1 END) AS sent,
        COUNT(CASE WHEN outcome = 'missing' THEN 1 END) AS missing,
        COUNT(CASE WHEN outcome = 'duplicate' THEN 1 END) AS duplicate,
        COUNT(CASE WHEN outcome = 'reordered' THEN 1 END) AS reordered,
        COUNT(peer) AS matched,
        MIN(delay) AS least,
        {median} AS median,
        {p99} AS p99,
        MAX(delay) AS most,
        MAX(error_bound) AS error_bound
    FROM {ranked}
    GROUP BY host, flow
),
others AS (
    SELECT f.host AS host, f.flow AS flow, SUM(r.packets) AS packets
    FROM flows f JOIN received r ON f.flow = r.flow AND f.host <> r.host
    GROUP BY f.host, f.flow
)
SELECT
    f.host AS host, peer, f.flow AS flow, sent, missing, duplicate, reordered,
    CAST(GREATEST(COALESCE(o.packets, 0) - matched, 0) AS BIGINT) AS unmatched,
    least, median, p99, most, error_bound
FROM flows f LEFT JOIN others o ON f.host = o.host AND f.flow = o.flow
ORDER BY host, flow
