-- Which methods take most, by service and version?
-- $service text = '': only this service
-- $since text = '0000': from this day on, 2026-11-24
-- $until text = '9999': to this day
-- $kind text = 'cpu': kind of samples: cpu, cycles, wall, off-cpu, alloc
-- $top number = 20: rows
-- step step_hosts
SELECT service, version, host, method, sum(self_weight) AS own_weight, sum(total_weight) AS all_weight
FROM frames WHERE day >= $since AND day <= $until AND ($service = '' OR service = $service) AND kind = $kind AND role = 'app'
GROUP BY service, version, host, method
-- step
WITH own AS (
  SELECT service, version, method, sum(own_weight) AS own_sum, sum(all_weight) AS all_sum, count(DISTINCT host) AS hosts
  FROM step_hosts GROUP BY service, version, method),
whole AS (SELECT service, version, sum(own_weight) AS whole_sum FROM step_hosts GROUP BY service, version)
SELECT coalesce(own.service, 'not known') AS service, coalesce(own.version, 'not known') AS version, own.method AS method,
       floor(1000 * (1e2 * own_sum / whole_sum) + 0.5) / 1000 AS self_percent,
       floor(1000 * (1e2 * all_sum / whole_sum) + 0.5) / 1000 AS total_percent, hosts
FROM own JOIN whole ON coalesce(own.service, '') = coalesce(whole.service, '')
                   AND coalesce(own.version, '') = coalesce(whole.version, '')
WHERE whole_sum > 0
ORDER BY self_percent DESC, method, service, version LIMIT $top
