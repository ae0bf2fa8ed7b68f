-- One row for each window, host and peer: the least differences of both directions. A host name that two machines use shows as
-- different values for the same window: "variants" counts them. DuckDB and Spark run this same text.
SELECT
    window_start,
    host,
    peer,
    MIN(forward) AS forward,
    MIN(backward) AS backward,
    MAX("window") AS length,
    COUNT(*) AS variants
FROM (SELECT DISTINCT * FROM probes WHERE {some})
GROUP BY window_start, host, peer
ORDER BY window_start, host, peer
