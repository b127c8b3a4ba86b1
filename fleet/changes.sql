-- What costs more since which day: frames and categories of the ledger, over the whole fleet?
-- $service text = '': only this service
-- $since text = '0000': from this day on, 2026-11-24
-- $until text = '9999': to this day
-- $kind text = 'cpu': kind of samples
-- $least number = 0.1: least change, points of a percent of the service's cost
-- $percent number = 5: least change, percent of what it cost before
-- $edge number = 3: so many days at least on each side of a change
-- $rate number = 0.01: of the changes that are listed, so large a share may be none (false discovery rate)
-- $moved text = 'no': yes lists what moved or went away again, too, with why it would be left out
-- $top number = 30: rows
-- A day is one observation: the share of all hosts' cost. Where one method takes more, the shares of all others fall: days are
-- scaled by the median of their methods' ratios to their means. The change point is the split with the largest t of a
-- common variance, corrected for days that are alike (first autocorrelation) and for the number of splits; the tail of
-- Student's t is that of a normal deviate (Wallace 1959; Boerjesson and Sundberg 1979). Benjamini and Hochberg hold the
-- rate over all of them, also those that are too small to be listed. docs/fleet.md says what moved means.
-- step step_frames
SELECT service, day, method, sum(self_weight) AS own, sum(total_weight) AS under
FROM frames
WHERE day >= $since AND day <= $until AND ($service = '' OR service = $service) AND kind = $kind AND role = 'app' AND service IS NOT NULL
GROUP BY service, day, method
-- step step_costs
SELECT service, 'total' AS scope, method AS item, day, 1e0 * under AS cost FROM step_frames
UNION ALL
SELECT service, 'self' AS scope, method AS item, day, 1e0 * own AS cost FROM step_frames
UNION ALL
SELECT service, 'category' AS scope, category AS item, day, sum(ms) AS cost
FROM ledger
WHERE day >= $since AND day <= $until AND ($service = '' OR service = $service) AND role = 'application threads' AND service IS NOT NULL
  AND category NOT IN ('idle', 'asleep')
GROUP BY service, category, day
-- step step_days
SELECT service, scope, day, whole, row_number() OVER (PARTITION BY service, scope ORDER BY day) AS idx,
       count(*) OVER (PARTITION BY service, scope) AS n
FROM (SELECT service, scope, day, sum(cost) AS whole FROM step_costs WHERE scope IN ('self', 'category') GROUP BY service, scope, day) wholes
WHERE whole > 0
-- step step_raw
SELECT costs.service AS service, costs.scope AS scope, costs.item AS item, days.idx AS idx, days.n AS n, 1e2 * costs.cost / days.whole AS share
FROM step_costs costs
JOIN step_days days ON days.service = costs.service AND days.day = costs.day
                   AND days.scope = CASE WHEN costs.scope = 'category' THEN 'category' ELSE 'self' END
-- step step_scales
WITH usual AS (
  SELECT service, scope, item, avg(share) AS mean FROM step_raw WHERE scope IN ('self', 'category')
  GROUP BY service, scope, item HAVING count(*) = max(n) AND avg(share) > 0.05),
ratios AS (
  SELECT raw.service AS service, raw.scope AS scope, raw.idx AS idx, raw.item AS item, raw.share / usual.mean AS ratio
  FROM step_raw raw JOIN usual ON raw.service = usual.service AND raw.scope = usual.scope AND raw.item = usual.item),
ranked AS (
  SELECT service, scope, idx, ratio, row_number() OVER (PARTITION BY service, scope, idx ORDER BY ratio, item) AS place,
         count(*) OVER (PARTITION BY service, scope, idx) AS items
  FROM ratios)
SELECT service, scope, idx, avg(ratio) AS scale FROM ranked
WHERE items >= 3 AND 2 * place >= items AND 2 * place <= items + 2 AND ratio > 0
GROUP BY service, scope, idx
-- step step_shares
WITH items AS (
  SELECT service, scope, item, CASE WHEN scope = 'category' THEN 'category' ELSE 'self' END AS family FROM step_raw
  GROUP BY service, scope, item HAVING max(share) >= $least)
SELECT items.service AS service, items.scope AS scope, items.item AS item, days.idx AS idx, days.n AS n,
       coalesce(raw.share, 0e0) / coalesce(scales.scale, 1e0) AS share
FROM items
JOIN step_days days ON days.service = items.service AND days.scope = items.family
LEFT JOIN step_raw raw ON raw.service = items.service AND raw.scope = items.scope AND raw.item = items.item AND raw.idx = days.idx
LEFT JOIN step_scales scales ON scales.service = items.service AND scales.scope = items.family AND scales.idx = days.idx
-- step step_splits
WITH centred AS (
  SELECT service, scope, item, idx, n, share, share - avg(share) OVER (PARTITION BY service, scope, item) AS x,
         avg(share) OVER (PARTITION BY service, scope, item) AS mean
  FROM step_shares),
cumulated AS (
  SELECT service, scope, item, idx, n, mean,
         sum(x) OVER (PARTITION BY service, scope, item ORDER BY idx ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - x AS s1,
         sum(x * x) OVER (PARTITION BY service, scope, item) AS q,
         avg(CASE WHEN idx <= $edge THEN x END) OVER (PARTITION BY service, scope, item) AS head,
         avg(CASE WHEN idx > n - $edge THEN x END) OVER (PARTITION BY service, scope, item) AS tail
  FROM centred),
sides AS (
  SELECT service, scope, item, idx, n, mean, head, tail, s1 / (idx - 1) AS m1, -s1 / (n - idx + 1) AS m2,
         greatest(q - s1 * s1 / (idx - 1) - s1 * s1 / (n - idx + 1), 1e-12) / (n - 2) AS variance
  FROM cumulated WHERE idx > $edge AND idx <= n + 1 - $edge AND n >= 2 * $edge AND n > 4)
SELECT service, scope, item, idx, n, mean, head, tail, m1, m2, m2 - m1 AS change,
       (m2 - m1) / sqrt(variance * (1e0 / (idx - 1) + 1e0 / (n - idx + 1))) AS t
FROM sides
-- step step_points
WITH best AS (
  SELECT service, scope, item, idx, n, mean, head, tail, m1, m2, change, t,
         row_number() OVER (PARTITION BY service, scope, item ORDER BY abs(t) DESC, idx) AS place
  FROM step_splits WHERE scope IN ('total', 'category')),
large AS (
  SELECT service, scope, item, idx, n, mean, head, tail, m1, m2, change, t FROM best
  WHERE place = 1 AND abs(t) > 3),
rest AS (
  SELECT large.service AS service, large.scope AS scope, large.item AS item, shares.idx AS idx,
         shares.share - large.mean - CASE WHEN shares.idx < large.idx THEN large.m1 ELSE large.m2 END AS r
  FROM large JOIN step_shares shares ON shares.service = large.service AND shares.scope = large.scope AND shares.item = large.item),
alike AS (
  SELECT one.service AS service, one.scope AS scope, one.item AS item,
         least(greatest(sum(one.r * coalesce(next.r, 0e0)) / greatest(sum(one.r * one.r), 1e-12), 0e0), 0.8e0) AS rho
  FROM rest one LEFT JOIN rest next ON next.service = one.service AND next.scope = one.scope AND next.item = one.item AND next.idx = one.idx + 1
  GROUP BY one.service, one.scope, one.item),
corrected AS (
  SELECT large.service AS service, large.scope AS scope, large.item AS item, idx, n, mean + m1 AS before_share, mean + m2 AS since_share, change,
         mean + head AS head_share, mean + tail AS tail_share, t / sqrt((1 + rho) / (1 - rho)) AS t, n - 2 AS v
  FROM large JOIN alike ON alike.service = large.service AND alike.scope = large.scope AND alike.item = large.item),
deviates AS (
  SELECT service, scope, item, idx, n, before_share, since_share, change, head_share, tail_share, t,
         (8 * v + 1e0) / (8 * v + 3) * sqrt(v * ln(1 + t * t / v)) AS z
  FROM corrected),
chances AS (
  SELECT service, scope, item, idx, n, before_share, since_share, change, head_share, tail_share, t,
         (n + 1 - 2 * $edge) * 2 * exp(-z * z / 2) / ((0.661e0 * z + 0.339e0 * sqrt(z * z + 5.51e0)) * 2.5066282746e0) AS p
  FROM deviates),
ranked AS (
  SELECT service, scope, item, idx, before_share, since_share, change, head_share, tail_share, t, p,
         row_number() OVER (ORDER BY p, service, scope, item) AS k
  FROM chances),
tests AS (SELECT count(*) AS m FROM (SELECT DISTINCT service, scope, item FROM step_raw WHERE scope IN ('total', 'category')) of_all),
within AS (SELECT max(k) AS last FROM ranked CROSS JOIN tests WHERE p <= 1e0 * $rate * k / m)
SELECT service, scope, item, idx, before_share, since_share, change, head_share, tail_share, t,
       CASE WHEN (tail_share - head_share) < 0.5e0 * change OR tail_share - before_share < 0.5e0 * change THEN 1 ELSE 0 END AS went
FROM ranked CROSS JOIN within
WHERE k <= last AND change >= $least AND change >= before_share * $percent / 1e2
-- step step_moves
WITH moments AS (SELECT DISTINCT service, CASE WHEN scope = 'category' THEN 'category' ELSE 'self' END AS scope, idx FROM step_points),
deltas AS (
  SELECT splits.service AS service, splits.scope AS scope, splits.item AS item, splits.idx AS idx, change, mean + m1 AS before_share,
         regexp_replace(splits.item, '[.][^.]*$', '') AS class
  FROM step_splits splits JOIN moments ON moments.service = splits.service AND moments.scope = splits.scope AND moments.idx = splits.idx
  WHERE abs(t) > 3),
classes AS (
  SELECT service, class, idx, sum(CASE WHEN change > 0 THEN change ELSE 0e0 END) AS rises, sum(CASE WHEN change < 0 THEN -change ELSE 0e0 END) AS falls
  FROM deltas WHERE scope = 'self' GROUP BY service, class, idx),
pairs AS (
  SELECT rise.service AS service, rise.scope AS scope, rise.item AS item, rise.idx AS idx, max(fall.item) AS moved_from
  FROM deltas rise JOIN deltas fall ON fall.service = rise.service AND fall.scope = rise.scope AND fall.idx = rise.idx
  WHERE rise.change > 0 AND -fall.change >= 0.75e0 * rise.change AND -0.75e0 * fall.change <= rise.change
    AND (rise.scope = 'self' OR -fall.change >= fall.before_share * $percent / 1e2)
  GROUP BY rise.service, rise.scope, rise.item, rise.idx)
SELECT deltas.service AS service, deltas.scope AS scope, deltas.item AS item, deltas.idx AS idx, deltas.change AS change,
       CASE WHEN pairs.moved_from IS NOT NULL THEN pairs.moved_from
            WHEN deltas.scope = 'self' AND classes.falls >= 0.75e0 * classes.rises THEN classes.class END AS moved_from
FROM deltas
LEFT JOIN pairs ON pairs.service = deltas.service AND pairs.scope = deltas.scope AND pairs.item = deltas.item AND pairs.idx = deltas.idx
LEFT JOIN classes ON classes.service = deltas.service AND classes.idx = deltas.idx
                 AND classes.class = deltas.class AND deltas.scope = 'self'
WHERE deltas.change > 0
-- step step_deploys
SELECT firsts.service AS service, firsts.version AS version, first_day AS day, days.idx AS idx
FROM (SELECT service, version, min(day) AS first_day FROM recordings
      WHERE day >= $since AND day <= $until AND ($service = '' OR service = $service) AND version IS NOT NULL GROUP BY service, version) firsts
JOIN step_days days ON days.service = firsts.service AND days.day = first_day
WHERE days.scope = 'self' AND days.idx > 1
-- step
WITH backed AS (
  SELECT points.service AS service, points.item AS item, points.idx AS idx,
         sum(CASE WHEN moves.moved_from IS NULL AND moves.change >= 0.1e0 * points.change THEN moves.change ELSE 0e0 END) AS real_rise,
         max(CASE WHEN moves.item = points.item THEN moves.change END) AS own_rise,
         max(CASE WHEN moves.item = points.item THEN moves.moved_from END) AS own_from,
         max(moves.moved_from) AS any_from
  FROM step_points points JOIN step_moves moves ON moves.service = points.service AND moves.idx = points.idx AND moves.scope = 'self'
  WHERE points.scope = 'total' GROUP BY points.service, points.item, points.idx),
judged AS (
  SELECT points.service AS service, points.scope AS scope, points.item AS item, points.idx AS idx, before_share, since_share, points.change AS change, t,
         backed.own_rise AS own_rise,
         CASE WHEN went = 1 THEN 'went away again'
              WHEN points.scope = 'category' AND moves.moved_from IS NOT NULL THEN 'moved from ' || moves.moved_from
              WHEN points.scope = 'category' THEN ''
              WHEN backed.own_rise >= 0.8e0 * points.change AND own_from IS NOT NULL THEN 'moved from ' || own_from
              WHEN backed.own_rise >= 0.8e0 * points.change THEN ''
              WHEN real_rise >= 0.5e0 * points.change THEN ''
              WHEN any_from IS NOT NULL THEN 'moved from ' || any_from
              ELSE 'moved: no method takes more itself' END AS left_out
  FROM step_points points
  LEFT JOIN backed ON backed.service = points.service AND backed.item = points.item AND backed.idx = points.idx AND points.scope = 'total'
  LEFT JOIN step_moves moves ON moves.service = points.service AND moves.item = points.item AND moves.idx = points.idx
                            AND moves.scope = 'category' AND points.scope = 'category'),
deployed AS (
  SELECT judged.service AS service, judged.scope AS scope, judged.item AS item, max(deploys.version) AS version, max(deploys.day) AS day
  FROM judged JOIN step_deploys deploys ON deploys.service = judged.service
  WHERE deploys.idx >= judged.idx - 1 AND deploys.idx <= judged.idx
  GROUP BY judged.service, judged.scope, judged.item)
SELECT judged.service AS service, CASE WHEN judged.scope = 'category' THEN 'category' ELSE 'frame' END AS what, judged.item AS name,
       days.day AS day,
       floor(1000 * before_share + 0.5) / 1000 AS before_percent, floor(1000 * since_share + 0.5) / 1000 AS since_percent,
       floor(1000 * change + 0.5) / 1000 AS change_points, floor(1000 * coalesce(own_rise, 0e0) + 0.5) / 1000 AS own_points,
       floor(10 * t + 0.5) / 10 AS times_noise, coalesce(deployed.version, '') AS deploy, coalesce(deployed.day, '') AS deploy_day, left_out
FROM judged
JOIN step_days days ON days.service = judged.service AND days.idx = judged.idx
                   AND days.scope = CASE WHEN judged.scope = 'category' THEN 'category' ELSE 'self' END
LEFT JOIN deployed ON deployed.service = judged.service AND deployed.scope = judged.scope AND deployed.item = judged.item
WHERE left_out = '' OR $moved = 'yes'
ORDER BY own_points DESC, change_points DESC, name, service LIMIT $top
