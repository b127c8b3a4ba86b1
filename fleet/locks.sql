-- Which locks were waited for longest?
-- $service text = '': only this service
-- $since text = '0000': from this day on, 2026-11-24
-- $until text = '9999': to this day
-- $top number = 30: rows
SELECT coalesce(service, 'not known') AS service, kind, lock, coalesce(place, '') AS place, sum(count) AS waits,
       floor(1000 * (sum(total_ns) / 1e6) + 0.5) / 1000 AS total_ms, floor(1000 * (max(longest_ns) / 1e6) + 0.5) / 1000 AS longest_ms,
       count(DISTINCT host) AS hosts
FROM locks WHERE day >= $since AND day <= $until AND ($service = '' OR service = $service)
GROUP BY service, kind, lock, place
ORDER BY total_ms DESC, lock, place, kind, service LIMIT $top
