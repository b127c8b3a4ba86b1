-- Which hosts spend their time otherwise than the other hosts of their service?
-- $service text = '': only this service
-- $since text = '0000': from this day on, 2026-11-24
-- $until text = '9999': to this day
-- $times number = 5: how many times the median distance from the median is an outlier
-- $least number = 1: least distance, percent of the application threads' time
-- At least 5 hosts. Median and median distance, as one host that is far off moves a mean and a deviation with it; by ranks,
-- as not every engine has an exact median.
WITH spent AS (
  SELECT service, host, category, sum(ms) AS category_ms
  FROM ledger WHERE day >= $since AND day <= $until AND ($service = '' OR service = $service) AND role = 'application threads' AND host IS NOT NULL AND service IS NOT NULL
    AND category NOT IN ('idle', 'asleep')
  GROUP BY service, host, category),
hosts AS (SELECT service, host, sum(category_ms) AS whole_ms FROM spent GROUP BY service, host),
categories AS (SELECT DISTINCT service, category FROM spent),
shares AS (
  SELECT hosts.service AS service, hosts.host AS host, categories.category AS category,
         1e2 * coalesce(spent.category_ms, 0.0) / hosts.whole_ms AS share
  FROM hosts JOIN categories ON hosts.service = categories.service
  LEFT JOIN spent ON spent.service = hosts.service AND spent.host = hosts.host AND spent.category = categories.category
  WHERE hosts.whole_ms > 0),
ranked AS (
  SELECT service, host, category, share, row_number() OVER (PARTITION BY service, category ORDER BY share, host) AS place,
         count(*) OVER (PARTITION BY service, category) AS n
  FROM shares),
middle AS (
  SELECT service, category, avg(share) AS mid, max(n) AS size FROM ranked
  WHERE 2 * place >= n AND 2 * place <= n + 2 GROUP BY service, category),
distances AS (
  SELECT shares.service AS service, shares.host AS host, shares.category AS category, share, mid, size, abs(share - mid) AS far
  FROM shares JOIN middle ON shares.service = middle.service AND shares.category = middle.category),
far_ranked AS (
  SELECT service, category, far, row_number() OVER (PARTITION BY service, category ORDER BY far, host) AS place,
         count(*) OVER (PARTITION BY service, category) AS n
  FROM distances),
spread AS (
  SELECT service, category, avg(far) AS usual FROM far_ranked
  WHERE 2 * place >= n AND 2 * place <= n + 2 GROUP BY service, category)
SELECT distances.service AS service, distances.host AS host, distances.category AS category,
       floor(100 * (share) + 0.5) / 100 AS percent, floor(100 * (mid) + 0.5) / 100 AS median_percent, floor(100 * (usual) + 0.5) / 100 AS usual_distance, size AS hosts
FROM distances JOIN spread ON distances.service = spread.service AND distances.category = spread.category
WHERE size >= 5 AND far >= $least AND far > $times * usual
ORDER BY far DESC, host, category LIMIT 50
