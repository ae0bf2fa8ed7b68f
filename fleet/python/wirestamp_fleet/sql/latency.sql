-- One row for each packet that was sent: one-way delay by the receiver's UTC minus the sender's, with both error bounds. A packet
-- is found at the receiver by its flow and sequence number, within `most` nanoseconds, so that sequence numbers that
-- start again are told apart. Both windows have the same order: one sort does for both. DuckDB and Spark run this same text.
WITH sent AS (
    SELECT host, flow, sequence, error_bound, utc(ticks, utc_minus_ticks) AS utc
    FROM timestamps WHERE direction = 'tx' AND utc(ticks, utc_minus_ticks) IS NOT NULL
),
received AS (
    SELECT host, flow, sequence, error_bound, utc(ticks, utc_minus_ticks) AS utc
    FROM timestamps WHERE direction = 'rx' AND utc(ticks, utc_minus_ticks) IS NOT NULL
),
pairs AS (
    SELECT
        s.host AS host, s.flow AS flow, s.sequence AS sequence, s.utc AS sent,
        r.host AS peer, r.utc - s.utc AS delay, s.error_bound + r.error_bound AS error_bound, r.utc AS received
    FROM sent s LEFT JOIN received r
        ON s.flow = r.flow AND s.sequence = r.sequence AND s.host <> r.host
        AND r.utc - s.utc BETWEEN -{most} AND {most}
),
ordered AS (
    SELECT *,
        LAG(sent) OVER (PARTITION BY host, flow ORDER BY sent, sequence, received, peer, error_bound NULLS FIRST) AS sent_before,
        LAG(sequence) OVER (PARTITION BY host, flow ORDER BY sent, sequence, received, peer, error_bound NULLS FIRST) AS sequence_before,
        MAX(received) OVER (PARTITION BY host, flow ORDER BY sent, sequence, received, peer, error_bound NULLS FIRST
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS received_before
    FROM pairs
)
SELECT
    host, flow, sequence, sent, peer, delay, error_bound,
    CASE WHEN peer IS NULL THEN 'missing'
         WHEN sequence = sequence_before AND sent = sent_before THEN 'duplicate'
         WHEN received < received_before THEN 'reordered'
         ELSE 'in order' END AS outcome
FROM ordered
