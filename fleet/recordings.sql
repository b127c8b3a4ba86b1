-- Which recordings are there, and what was found in each?
-- $service text = '': only this service
-- $since text = '0000': from this day on, 2026-11-24
-- $until text = '9999': to this day
-- $rule text = '': only where this was found
-- $top number = 200: rows
SELECT recordings.day AS day, coalesce(recordings.service, 'not known') AS service, coalesce(recordings.version, 'not known') AS version,
       coalesce(recordings.host, 'not known') AS host, coalesce(found.rule, '') AS rule,
       floor(10 * coalesce(found.cost_ms, 0e0) + 0.5) / 10 AS rule_ms, recordings.samples AS samples, recordings.status AS status,
       recordings.headline AS headline, recordings.recording AS recording
FROM recordings
LEFT JOIN (SELECT recording, rule, sum(lost_ms) AS cost_ms FROM findings GROUP BY recording, rule) found
  ON found.recording = recordings.recording
WHERE recordings.day >= $since AND recordings.day <= $until AND ($service = '' OR recordings.service = $service)
  AND ($rule = '' OR found.rule = $rule)
ORDER BY rule_ms DESC, day DESC, recording, rule LIMIT $top
