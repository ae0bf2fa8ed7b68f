-- Functions for queries, in both engines. `utc`: nanoseconds since 1970, by modulo 2^64 as docs/parquet defines it; NULL where that
-- is no time that INT64 holds.
utc(ticks BIGINT, utc_minus_ticks BIGINT) RETURNS BIGINT AS CASE
    WHEN ticks >= 0 AND utc_minus_ticks BETWEEN -ticks AND 9223372036854775807 - ticks THEN ticks + utc_minus_ticks -- as nearly always
    WHEN ticks < 0 AND utc_minus_ticks < 0 THEN -- without their signs, both are greater by 2^63
        CASE WHEN (ticks & 9223372036854775807) <= 9223372036854775807 - (utc_minus_ticks & 9223372036854775807)
            THEN (ticks & 9223372036854775807) + (utc_minus_ticks & 9223372036854775807) END
    WHEN ticks < 0 AND ticks + utc_minus_ticks >= 0 THEN ticks + utc_minus_ticks
END;
-- The earliest and the latest that a timestamp can be in the host's UTC.
earliest(ticks BIGINT, utc_minus_ticks BIGINT, error_bound BIGINT) RETURNS BIGINT AS
    CASE WHEN error_bound BETWEEN 0 AND utc(ticks, utc_minus_ticks) THEN utc(ticks, utc_minus_ticks) - error_bound END;
latest(ticks BIGINT, utc_minus_ticks BIGINT, error_bound BIGINT) RETURNS BIGINT AS
    CASE WHEN error_bound BETWEEN 0 AND 9223372036854775807 - utc(ticks, utc_minus_ticks)
        THEN utc(ticks, utc_minus_ticks) + error_bound END;
-- The hour of UTC that a time in nanoseconds is in, as nanoseconds. A division of integers: the time, which may be long to
-- compute, stands there once.
hour_of(nanoseconds BIGINT) RETURNS BIGINT AS nanoseconds {divided_by} 3600000000000 * 3600000000000;
