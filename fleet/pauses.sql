-- For how long did JVMs stand still, by cause?
-- $service text = '': only this service
-- $since text = '0000': from this day on, 2026-11-24
-- $until text = '9999': to this day
-- $top number = 30: rows
SELECT coalesce(service, 'not known') AS service, kind, name, coalesce(cause, '') AS cause, sum(count) AS stops,
       floor(1000 * (sum(total_ns) / 1e6) + 0.5) / 1000 AS total_ms, floor(1000 * (max(longest_ns) / 1e6) + 0.5) / 1000 AS longest_ms,
       count(DISTINCT host) AS hosts
FROM pauses WHERE day >= $since AND day <= $until AND ($service = '' OR service = $service)
GROUP BY service, kind, name, cause
ORDER BY total_ms DESC, name, cause, kind, service LIMIT $top
