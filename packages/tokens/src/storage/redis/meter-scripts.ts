import type { Meter } from '../../contract/meter-store.ts'
import { script } from './client.ts'

/*
 * Data of an account. All keys of a step have one hash tag, so that a cluster keeps them on one node (see meter-keys.ts):
 * - call: `reserved:<time>`, then `settled`. With it each step has an effect once, however often and however late it arrives.
 * - window or period: a hash with the number of the current one, `i`, its count, `c`, and the count of the previous one, `p`. A period also
 *   has `h`, the highest amount that was reported in period `hi`.
 * - concurrent: a sorted set of call ids, by the time at which their leases expire.
 * - sums: a hash for each day, with `<sum>:<model>`, and the number of models in `models`.
 * Numbers are formatted by `%.0f`: Lua would write large ones with an exponent.
 */
export const prelude = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local function text(n) return string.format('%.0f', n) end

-- Number of the period that contains a time. Months are counted from March of the year 0, so that leap days come last.
local function period(name, at)
  local day = math.floor(at / 86400000)
  if name == 'day' then return day end
  if name == 'week' then return math.floor((day + 3) / 7) end
  if name ~= 'month' then return 0 end
  day = day + 719468
  local era = math.floor(day / 146097)
  local ofEra = day - era * 146097
  local year = math.floor((ofEra - math.floor(ofEra / 1460) + math.floor(ofEra / 36524) - math.floor(ofEra / 146096)) / 365)
  local ofYear = ofEra - (365 * year + math.floor(year / 4) - math.floor(year / 100))
  return (era * 400 + year) * 12 + math.floor((5 * ofYear + 2) / 153)
end
local lasts = { day = 86400000, week = 604800000, month = 2678400000 }

-- kind: 'window', 'period' or 'concurrent'; span: the window in milliseconds, or the name of the period.
local function numberAt(kind, span, at)
  if kind == 'window' then return math.floor(at / span) end
  return period(span, at)
end
local function load(key, kind, span)
  local i = numberAt(kind, span, now)
  local kept = redis.call('HMGET', key, 'i', 'c', 'p')
  local k, c, p = tonumber(kept[1]), tonumber(kept[2]) or 0, tonumber(kept[3]) or 0
  -- After a failover the clock may be slightly behind.
  if k == i or k == i + 1 then return { i = k, c = c, p = p } end
  if k == i - 1 then return { i = i, c = 0, p = c } end
  return { i = i, c = 0, p = 0 }
end
local function save(key, kind, span, m)
  redis.call('HSET', key, 'i', text(m.i), 'c', text(math.max(0, m.c)), 'p', text(math.max(0, m.p)))
  local ms = kind == 'window' and 2 * span or lasts[span]
  if ms then redis.call('PEXPIRE', key, text(ms)) end
end
-- Several limits may share a counter, and a call counts once.
local seen = {}
local function first(key)
  if seen[key] then return false end
  seen[key] = true
  return true
end
local function running(key)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', text(now))
  return redis.call('ZCARD', key)
end
`

/**
 * Reserves, or only reads (`read`).
 * KEYS: call, then meters. ARGV: `reserve` or `read`, call id, lease (ms), time to live of a reservation (ms); then for each meter: kind,
 * span, limit, amount, required room.
 * Returns the outcome (`ok`, or the index of the meter without room, from 0), the time, and for each meter the counts of the current
 * window or period and of the previous one.
 */
export const reserveScript = script(`${prelude}
local meters, counts = {}, {}
local outcome = 'ok'
for n = 2, #KEYS do
  local a = 5 + (n - 2) * 5
  local m = { key = KEYS[n], kind = ARGV[a], span = tonumber(ARGV[a + 1]) or ARGV[a + 1] }
  local limit, amount = tonumber(ARGV[a + 2]), tonumber(ARGV[a + 3])
  m.amount = amount
  if not counts[m.key] then
    counts[m.key] = m.kind == 'concurrent' and { c = running(m.key), p = 0 } or load(m.key, m.kind, m.span)
  end
  m.count = counts[m.key]
  local used = m.count.c
  if m.kind == 'window' then
    used = used + m.count.p * math.min(m.span, (m.count.i + 1) * m.span - now) / m.span
  end
  if outcome == 'ok' and used + tonumber(ARGV[a + 4]) > limit then outcome = text(n - 2) end
  meters[n - 1] = m
end
if ARGV[1] == 'reserve' and (outcome == 'ok' or redis.call('EXISTS', KEYS[1]) == 1) then
  -- A repeated reservation is not counted again.
  if redis.call('SET', KEYS[1], 'reserved:' .. text(now), 'NX', 'PX', ARGV[4]) then
    for _, m in ipairs(meters) do
      if m.amount ~= 0 and first(m.key) then
        m.count.c = m.count.c + m.amount
        if m.kind == 'concurrent' then
          redis.call('ZADD', m.key, text(now + ARGV[3]), ARGV[2])
          redis.call('PEXPIRE', m.key, ARGV[3])
        else
          save(m.key, m.kind, m.span, m.count)
        end
      end
    end
  else
    outcome = 'ok'
  end
end
local answer = { outcome, text(now) }
for _, m in ipairs(meters) do
  answer[#answer + 1] = text(m.count.c)
  answer[#answer + 1] = m.kind == 'window' and text(m.count.p) or '0'
end
return answer`)

/**
 * Settles a call.
 * KEYS: call, sums of the day, then meters. ARGV: call id, time of the reservation (or empty), time to live of the settlement (ms), time to
 * live of the sums (ms), maximum number of models of a day, name of all others, model, number of sums; then name and value of each
 * sum, and for each meter: kind, span, amount, actual, amounts to report (ascending, separated by commas; or empty).
 * Returns the time, and for each meter that has reached an amount: its index from 0, its use, and the highest amount reported before.
 * Everything is read and computed before the first write: a script that fails has changed nothing and may be repeated.
 */
export const settleScript = script(`${prelude}
local known = redis.call('GET', KEYS[1])
if known == 'settled' then return {} end
local reservedAt = known and tonumber(string.sub(known, 10))
local at = reservedAt or tonumber(ARGV[2]) or now
local function number(n)
  local value = tonumber(ARGV[n])
  if not value or value ~= math.floor(value) or math.abs(value) > 9007199254740991 then error('invalid count: ' .. ARGV[n]) end
  return value
end
local a = 9
local fields, sums = {}, {}
local model, models = ARGV[7], nil
for n = 1, number(8) do
  fields[n] = ARGV[a] .. ':' .. model
  sums[n] = number(a + 1)
  a = a + 2
end
if #fields > 0 then
  if redis.call('HEXISTS', KEYS[2], fields[1]) == 0 then
    local count = tonumber(redis.call('HGET', KEYS[2], 'models')) or 0
    if count < number(5) then
      models = count + 1
    else
      for n = 1, #fields do fields[n] = ARGV[7 + 2 * n] .. ':' .. ARGV[6] end
    end
  end
  local kept = redis.call('HMGET', KEYS[2], unpack(fields))
  for n = 1, #fields do sums[n] = sums[n] + (tonumber(kept[n]) or 0) end
end
local over, changed, loaded, marks = {}, {}, {}, {}
local reply = { text(now) }
for n = 3, #KEYS do
  local key, kind, span = KEYS[n], ARGV[a], tonumber(ARGV[a + 1]) or ARGV[a + 1]
  if kind == 'concurrent' then
    redis.call('ZCARD', key)
    over[#over + 1] = key
  elseif first(key) then
    local change = number(a + 3)
    if reservedAt then change = change - number(a + 2) end
    if change ~= 0 or ARGV[a + 4] ~= '' then
      local m = load(key, kind, span)
      loaded[key] = m
      local i = numberAt(kind, span, at)
      -- Use beyond the reservation counts in the current window.
      if kind == 'window' and change > 0 then i = m.i end
      if change == 0 then
      elseif i == m.i then
        m.c = m.c + change
        changed[#changed + 1] = { key = key, kind = kind, span = span, m = m }
      elseif i == m.i - 1 then
        m.p = m.p + change
        changed[#changed + 1] = { key = key, kind = kind, span = span, m = m }
      end
    end
  end
  if kind == 'period' and ARGV[a + 4] ~= '' then
    local m = loaded[key] or load(key, kind, span)
    loaded[key] = m
    local kept = redis.call('HMGET', key, 'hi', 'h')
    local mark = tonumber(kept[1]) == m.i and tonumber(kept[2]) or 0
    local best = mark
    for amount in string.gmatch(ARGV[a + 4], '%d+') do
      if tonumber(amount) <= m.c then best = math.max(best, tonumber(amount)) end
    end
    if best > mark then
      for _, value in ipairs({ n - 3, m.c, mark }) do reply[#reply + 1] = text(value) end
      marks[key] = math.max(best, marks[key] or 0)
    end
  end
  a = a + 5
end
redis.call('SET', KEYS[1], 'settled', 'PX', ARGV[3])
for n = 1, #fields do redis.call('HSET', KEYS[2], fields[n], text(sums[n])) end
if models then redis.call('HSET', KEYS[2], 'models', text(models)) end
if #fields > 0 then redis.call('PEXPIRE', KEYS[2], ARGV[4]) end
for _, key in ipairs(over) do redis.call('ZREM', key, ARGV[1]) end
for _, one in ipairs(changed) do save(one.key, one.kind, one.span, one.m) end
for key, amount in pairs(marks) do redis.call('HSET', key, 'hi', text(loaded[key].i), 'h', text(amount)) end
return reply`)

/** Returns the span of a meter as the scripts expect it. */
export const spanOf = (meter: Meter): string =>
  meter.kind === 'window' ? String(meter.windowMs) : meter.kind === 'period' ? meter.period : ''

/** Renews the leases of a call, unless it is settled. KEYS: call, then its concurrent meters. ARGV: call id, lease (ms). */
export const renewScript = script(`${prelude}
if redis.call('GET', KEYS[1]) == 'settled' then return 0 end
for n = 2, #KEYS do
  redis.call('ZADD', KEYS[n], text(now + ARGV[2]), ARGV[1])
  redis.call('PEXPIRE', KEYS[n], ARGV[2])
end
return 1`)

/** Reads sums. KEYS: days. Returns an array of names and values for each. */
export const sumsScript = script(`
local days = {}
for n = 1, #KEYS do days[n] = redis.call('HGETALL', KEYS[n]) end
return days`)
