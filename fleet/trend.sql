-- How did the share of a method, or of a category of the ledger, go day by day?
-- $service text = '': only this service
-- $since text = '0000': from this day on, 2026-11-24
-- $until text = '9999': to this day
-- $kind text = 'cpu': kind of samples
-- $name text = '': only this method or category
-- $least number = 0.1: only what had as many percent on some day
-- $top number = 20000: rows
-- step step_costs
SELECT service, 'frame' AS what, method AS name, day, 1e0 * sum(total_weight) AS cost, 1e0 * sum(self_weight) AS own
FROM frames WHERE day >= $since AND day <= $until AND ($service = '' OR service = $service) AND kind = $kind AND role = 'app'
GROUP BY service, method, day
UNION ALL
SELECT service, 'category' AS what, category AS name, day, sum(ms) AS cost, sum(ms) AS own
FROM ledger
WHERE day >= $since AND day <= $until AND ($service = '' OR service = $service) AND role = 'application threads' AND category NOT IN ('idle', 'asleep')
GROUP BY service, category, day
-- step step_shares
SELECT costs.service AS service, costs.what AS what, costs.name AS name, costs.day AS day, 1e2 * costs.cost / wholes.whole AS share
FROM step_costs costs
JOIN (SELECT coalesce(service, '') AS of_service, what, day, sum(own) AS whole FROM step_costs GROUP BY coalesce(service, ''), what, day) wholes
  ON wholes.of_service = coalesce(costs.service, '') AND wholes.what = costs.what AND wholes.day = costs.day
WHERE wholes.whole > 0
-- step
SELECT coalesce(shares.service, 'not known') AS service, shares.what AS what, shares.name AS name, shares.day AS day,
       floor(1000 * shares.share + 0.5) / 1000 AS percent
FROM step_shares shares
JOIN (SELECT coalesce(service, '') AS of_service, what, name FROM step_shares GROUP BY coalesce(service, ''), what, name HAVING max(share) >= $least) large
  ON large.of_service = coalesce(shares.service, '') AND large.what = shares.what AND large.name = shares.name
WHERE $name = '' OR shares.name = $name
ORDER BY service, what, name, day LIMIT $top
