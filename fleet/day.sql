-- What do application threads spend more time on since a day, against the days before it?
-- $service text = '': only this service
-- $since text = '0000': from this day on, 2026-11-24
-- $until text = '9999': to this day
-- $day text = '': the day of a deploy, 2026-11-24
-- $least number = 1: least change, percent of their time
-- Each host on each side is one observation; it changed where more than four standard errors lie between.
WITH spent AS (
  SELECT service, category, CASE WHEN day >= $day THEN 1 ELSE 0 END AS late, host, sum(ms) AS category_ms
  FROM ledger WHERE day >= $since AND day <= $until AND ($service = '' OR service = $service) AND role = 'application threads' AND category NOT IN ('idle', 'asleep')
  GROUP BY service, category, CASE WHEN day >= $day THEN 1 ELSE 0 END, host),
whole AS (SELECT service, late, host, sum(category_ms) AS whole_ms FROM spent GROUP BY service, late, host),
shares AS (
  SELECT spent.service AS service, category, spent.late AS late, 1e2 * category_ms / whole_ms AS share
  FROM spent JOIN whole ON spent.service = whole.service AND spent.late = whole.late AND spent.host = whole.host
  WHERE whole_ms > 0),
counts AS (
  SELECT service, 1e0 * sum(1 - late) AS n1, 1e0 * sum(late) AS n2 FROM whole WHERE whole_ms > 0 GROUP BY service),
sums AS (
  SELECT service, category, sum((1 - late) * share) AS s1, sum((1 - late) * share * share) AS q1,
         sum(late * share) AS s2, sum(late * share * share) AS q2
  FROM shares GROUP BY service, category),
errors AS (
  SELECT sums.service AS service, category, s1 / n1 AS m1, s2 / n2 AS m2, n1, n2,
         sqrt(greatest(q1 - s1 * s1 / n1, 0.0) / (n1 - 1) / n1 + greatest(q2 - s2 * s2 / n2, 0.0) / (n2 - 1) / n2) AS error
  FROM sums JOIN counts ON sums.service = counts.service WHERE n1 >= 4 AND n2 >= 4)
SELECT service, category, floor(100 * (m1) + 0.5) / 100 AS before_percent, floor(100 * (m2) + 0.5) / 100 AS since_percent,
       floor(100 * (m2 - m1) + 0.5) / 100 AS change_points, floor(100 * (4 * error) + 0.5) / 100 AS noise_points, n1 AS hosts_before, n2 AS hosts_since
FROM errors WHERE abs(m2 - m1) >= $least AND abs(m2 - m1) > 4 * error
ORDER BY abs(m2 - m1) DESC, category, service LIMIT 30
