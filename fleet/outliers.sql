-- Which hosts spend their time otherwise than the other hosts of their service?
-- $service text = '': only this service
-- $since text = '0000': from this day on, 2026-11-24
-- $until text = '9999': to this day
-- $times number = 5: how many times the median distance from the median is an outlier
-- $least number = 1: least distance, percent of the application threads' time
-- At least 5 hosts. Median and median distance, as one host that is far off moves a mean and a deviation with it; by ranks,
-- as not every engine has an exact median.
WITH spent AS (
  SELECT service, host, heading, sum(ms) AS heading_ms
  FROM ledger WHERE day >= $since AND day <= $until AND ($service = '' OR service = $service) AND role = 'application threads' AND host IS NOT NULL AND service IS NOT NULL
    AND heading NOT IN ('idle', 'asleep')
  GROUP BY service, host, heading),
hosts AS (SELECT service, host, sum(heading_ms) AS whole_ms FROM spent GROUP BY service, host),
headings AS (SELECT DISTINCT service, heading FROM spent),
shares AS (
  SELECT hosts.service AS service, hosts.host AS host, headings.heading AS heading,
         1e2 * coalesce(spent.heading_ms, 0.0) / hosts.whole_ms AS share
  FROM hosts JOIN headings ON hosts.service = headings.service
  LEFT JOIN spent ON spent.service = hosts.service AND spent.host = hosts.host AND spent.heading = headings.heading
  WHERE hosts.whole_ms > 0),
ranked AS (
  SELECT service, host, heading, share, row_number() OVER (PARTITION BY service, heading ORDER BY share, host) AS place,
         count(*) OVER (PARTITION BY service, heading) AS n
  FROM shares),
middle AS (
  SELECT service, heading, avg(share) AS mid, max(n) AS size FROM ranked
  WHERE 2 * place >= n AND 2 * place <= n + 2 GROUP BY service, heading),
distances AS (
  SELECT shares.service AS service, shares.host AS host, shares.heading AS heading, share, mid, size, abs(share - mid) AS far
  FROM shares JOIN middle ON shares.service = middle.service AND shares.heading = middle.heading),
far_ranked AS (
  SELECT service, heading, far, row_number() OVER (PARTITION BY service, heading ORDER BY far, host) AS place,
         count(*) OVER (PARTITION BY service, heading) AS n
  FROM distances),
spread AS (
  SELECT service, heading, avg(far) AS usual FROM far_ranked
  WHERE 2 * place >= n AND 2 * place <= n + 2 GROUP BY service, heading)
SELECT distances.service AS service, distances.host AS host, distances.heading AS heading,
       floor(100 * (share) + 0.5) / 100 AS percent, floor(100 * (mid) + 0.5) / 100 AS median_percent, floor(100 * (usual) + 0.5) / 100 AS usual_distance, size AS hosts
FROM distances JOIN spread ON distances.service = spread.service AND distances.heading = spread.heading
WHERE size >= 5 AND far >= $least AND far > $times * usual
ORDER BY far DESC, host, heading LIMIT 50
