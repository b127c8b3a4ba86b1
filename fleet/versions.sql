-- Which methods cost more or less in one version than in another, beyond what hosts differ by?
-- $service text = '': only this service
-- $since text = '0000': from this day on, 2026-11-24
-- $until text = '9999': to this day
-- $before text = '': the version before
-- $after text = '': the version after
-- $kind text = 'cpu': kind of samples
-- $unit text = 'host': what is taken as independent: host or recording
-- $z number = 4: how many standard errors are beyond noise; 4 as thousands of methods are tested
-- $top number = 20: rows
-- A unit's share of a method is one observation, 0 where it was not seen. Welch's interval; the quantile of Student's t
-- is expanded from that of the normal distribution (Abramowitz and Stegun 26.7.5). At least 4 units on each side.
-- step step_seen
SELECT version, CASE WHEN $unit = 'host' THEN coalesce(host, '') ELSE recording END AS unit, method,
       sum(total_weight) AS weight, sum(self_weight) AS own_weight
FROM frames
WHERE day >= $since AND day <= $until AND ($service = '' OR service = $service) AND kind = $kind AND role = 'app' AND version IN ($before, $after)
GROUP BY version, CASE WHEN $unit = 'host' THEN coalesce(host, '') ELSE recording END, method
-- step
WITH units AS (SELECT version, unit, sum(own_weight) AS whole FROM step_seen GROUP BY version, unit),
shares AS (
  SELECT seen.version AS version, seen.method AS method, 1e0 * seen.weight / units.whole AS share
  FROM step_seen seen JOIN units ON seen.version = units.version AND seen.unit = units.unit WHERE units.whole > 0),
counts AS (
  SELECT 1e0 * sum(CASE WHEN version = $before THEN 1 ELSE 0 END) AS n1,
         1e0 * sum(CASE WHEN version = $after THEN 1 ELSE 0 END) AS n2
  FROM units WHERE whole > 0),
sums AS (
  SELECT method,
         sum(CASE WHEN version = $before THEN share ELSE 0.0 END) AS s1,
         sum(CASE WHEN version = $before THEN share * share ELSE 0.0 END) AS q1,
         sum(CASE WHEN version = $after THEN share ELSE 0.0 END) AS s2,
         sum(CASE WHEN version = $after THEN share * share ELSE 0.0 END) AS q2
  FROM shares GROUP BY method),
errors AS (
  SELECT method, n1, n2, s1 / n1 AS m1, s2 / n2 AS m2,
         greatest(q1 - s1 * s1 / n1, 0.0) / (n1 - 1) / n1 AS e1,
         greatest(q2 - s2 * s2 / n2, 0.0) / (n2 - 1) / n2 AS e2
  FROM sums CROSS JOIN counts WHERE n1 >= 4 AND n2 >= 4),
freedom AS (
  SELECT method, n1, n2, m1, m2, sqrt(e1 + e2) AS error,
         CASE WHEN e1 + e2 > 0 THEN (e1 + e2) * (e1 + e2) / (e1 * e1 / (n1 - 1) + e2 * e2 / (n2 - 1)) ELSE 1e9 END AS v
  FROM errors),
quantiles AS (
  SELECT method, n1, n2, m1, m2,
         error * ($z + (power($z, 3) + $z) / (4 * v)
                  + (5 * power($z, 5) + 16 * power($z, 3) + 3 * $z) / (96 * v * v)
                  + (3 * power($z, 7) + 19 * power($z, 5) + 17 * power($z, 3) - 15 * $z) / (384 * v * v * v)) AS half
  FROM freedom)
SELECT method, floor(1000 * (1e2 * m1) + 0.5) / 1000 AS before_percent, floor(1000 * (1e2 * m2) + 0.5) / 1000 AS after_percent,
       floor(1000 * (1e2 * (m2 - m1)) + 0.5) / 1000 AS difference_points,
       floor(1000 * (1e2 * (m2 - m1 - half)) + 0.5) / 1000 AS from_points, floor(1000 * (1e2 * (m2 - m1 + half)) + 0.5) / 1000 AS to_points,
       n1 AS units_before, n2 AS units_after
FROM quantiles WHERE abs(m2 - m1) > half AND abs(m2 - m1) > 0.0005
ORDER BY abs(m2 - m1) DESC, method LIMIT $top
