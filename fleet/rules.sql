-- On which hosts was which cause found, how often, and what did it cost?
-- $service text = '': only this service
-- $since text = '0000': from this day on, 2026-11-24
-- $until text = '9999': to this day
-- $rule text = '': only this rule
-- $top number = 50: rows
SELECT rule, coalesce(service, 'not known') AS service, coalesce(host, 'not known') AS host,
       count(DISTINCT recording) AS recordings, floor(10 * (sum(lost_ms)) + 0.5) / 10 AS lost_ms, max(confidence) AS confidence,
       max(sentence) AS for_example
FROM findings WHERE day >= $since AND day <= $until AND ($service = '' OR service = $service) AND ($rule = '' OR rule = $rule)
GROUP BY rule, service, host
ORDER BY recordings DESC, rule, host, service LIMIT $top
