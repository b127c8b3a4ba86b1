-- What was not seen, on which hosts, and why?
-- $service text = '': only this service
-- $since text = '0000': from this day on, 2026-11-24
-- $until text = '9999': to this day
-- $top number = 50: rows
SELECT coalesce(service, 'not known') AS service, coalesce(host, 'not known') AS host, what, why,
       count(DISTINCT recording) AS recordings, max(remedy) AS remedy
FROM unseen WHERE day >= $since AND day <= $until AND ($service = '' OR service = $service)
GROUP BY service, host, what, why
ORDER BY recordings DESC, service, host, what, why LIMIT $top
