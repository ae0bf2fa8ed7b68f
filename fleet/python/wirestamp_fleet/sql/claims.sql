-- What hosts say of their clocks: within how many nanoseconds of UTC they are, and when. DuckDB and Spark run this same text.
SELECT host, "from", "until", "offset", error_bound
FROM estimates
WHERE clock = 'utc' AND {some}
ORDER BY host, "from", "until", "offset", error_bound
