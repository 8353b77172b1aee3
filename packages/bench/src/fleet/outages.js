// Exactness of an owner's budget while Redis fails or half of the processes lose it: use beyond the budget, refused calls, recovery.
import { percent } from '../table.js'
import { startDelayProxy } from './delay-proxy.js'
import { closeFleet, startFleet } from './gateway-process.js'
import { openLoad, pause } from './load.js'
import { startRedis } from './redis-server.js'
import { createTally } from './tally.js'

/** @typedef {import('./gateway-process.js').Counting} Counting @typedef {import('./redis-server.js').Persistence} Persistence */
/**
 * @typedef {object} Scenario
 * @property {string} name
 * @property {Persistence} persistence
 * @property {number} staleMs
 * @property {number} budgetSeconds seconds after which the load has used the budget
 * @property {'none' | 'kill' | 'partition'} fault from second 2
 * @property {number} faultSeconds
 */

const perSecond = 400
/** Each call reserves and uses as many tokens. */
const tokensOfCall = 100
const callMs = 50
const roundTripMs = 0.5
const faultAt = 2
const seconds = 14
const owner = 'team'

/** @type {readonly Scenario[]} */
const scenarios = [
  { name: 'no fault', persistence: 'everysec', staleMs: 60_000, budgetSeconds: 5, fault: 'none', faultSeconds: 0 },
  {
    name: 'Redis killed, appendfsync always',
    persistence: 'always',
    staleMs: 60_000,
    budgetSeconds: 8,
    fault: 'kill',
    faultSeconds: 2,
  },
  {
    name: 'Redis killed, appendfsync everysec',
    persistence: 'everysec',
    staleMs: 60_000,
    budgetSeconds: 8,
    fault: 'kill',
    faultSeconds: 2,
  },
  {
    name: 'Redis killed, no persistence',
    persistence: 'none',
    staleMs: 60_000,
    budgetSeconds: 8,
    fault: 'kill',
    faultSeconds: 2,
  },
  {
    name: 'Redis killed, everysec, default staleMs 0',
    persistence: 'everysec',
    staleMs: 0,
    budgetSeconds: 8,
    fault: 'kill',
    faultSeconds: 2,
  },
  {
    name: 'Redis killed while the budget runs out',
    persistence: 'everysec',
    staleMs: 60_000,
    budgetSeconds: 4,
    fault: 'kill',
    faultSeconds: 4,
  },
  {
    name: 'half of the processes cut off',
    persistence: 'everysec',
    staleMs: 60_000,
    budgetSeconds: 12,
    fault: 'partition',
    faultSeconds: 4,
  },
  {
    name: 'half cut off while the budget runs out',
    persistence: 'everysec',
    staleMs: 60_000,
    budgetSeconds: 4,
    fault: 'partition',
    faultSeconds: 6,
  },
  {
    name: 'the same with the default staleMs 0',
    persistence: 'everysec',
    staleMs: 0,
    budgetSeconds: 4,
    fault: 'partition',
    faultSeconds: 6,
  },
]

/** @param {{ processes: number, counting: Counting, only: string }} options */
export async function measureOutages({ processes, counting, only }) {
  const rows = []
  for (const scenario of scenarios)
    if (scenario.name.includes(only)) rows.push(await runScenario(scenario, processes, counting))
  return { processes, perSecond, tokensOfCall, callMs, roundTripMs, rows }
}

/** @param {Scenario} scenario @param {number} processes @param {Counting} counting */
async function runScenario(scenario, processes, counting) {
  const redis = await startRedis({ persistence: scenario.persistence })
  const proxy = await startDelayProxy(redis.port, roundTripMs)
  const budget = perSecond * tokensOfCall * scenario.budgetSeconds
  let startedAt = 0
  /** @type {{ at: number, isBack: boolean }[]} */
  const reports = []
  const fleet = await startFleet({
    urlFor: proxy.urlFor,
    processes,
    tally: createTally(),
    counting,
    staleMs: scenario.staleMs,
    ownerDefaults: { budget: { period: 'month', tokens: budget } },
    onWarn: (message) => {
      if (message.includes('available again')) reports.push({ at: performance.now() - startedAt, isBack: true })
      else if (message.includes('unavailable')) reports.push({ at: performance.now() - startedAt, isBack: false })
    },
  })
  // Processes announce themselves with their first calls.
  const caller = { identity: { id: 'user', owner } }
  await Promise.all(fleet.map((process) => process.call(caller, { tokens: 0 })))
  await pause(6000)
  startedAt = performance.now()
  const fault = runFault(scenario, redis, proxy, () => performance.now() - startedAt)
  const results = await openLoad({ processes, perSecond, seconds }, (process) =>
    /** @type {import('./gateway-process.js').GatewayProcess} */ (fleet[process]).call(caller, {
      tokens: tokensOfCall,
      durationMs: callMs,
    }),
  )
  const { from, to } = await fault
  await pause(3000)
  const [first] = fleet
  const counted = (await first?.tokens.owners.usage(owner))?.budgets[0]?.used ?? Number.NaN
  await closeFleet(fleet)
  await proxy.close()
  await redis.close()

  const admitted = results.filter(({ outcome }) => outcome === 'admitted')
  const used = admitted.length * tokensOfCall
  const during = results.filter(({ at }) => at >= from && at < to)
  // A pause of this machine may look like an outage, too.
  const back = reports.filter(({ isBack, at }) => isBack && scenario.fault !== 'none' && at >= to).map(({ at }) => at)
  const failures = results.filter(({ outcome, at }) => outcome === 'unavailable' && at >= to)
  return {
    ...scenario,
    budget,
    used,
    overspend: Math.max(0, used - budget) / budget,
    /** Use before the fault, as a share of the budget. */
    usedBefore: (admitted.filter(({ at }) => at < from).length * tokensOfCall) / budget,
    counted,
    notCounted: (used - counted) / used,
    callsDuring: during.length,
    admittedDuring: during.filter(({ outcome }) => outcome === 'admitted').length,
    /** A process that is back may find a budget that others have used without Redis, and not written yet. */
    overspendDuring: Math.max(0, admitted.filter(({ at }) => at < to).length * tokensOfCall - budget) / budget,
    unavailableDuring: during.filter(({ outcome }) => outcome === 'unavailable').length,
    unavailableAfter: failures.length,
    recoverySeconds: back.length === 0 ? 0 : (Math.max(...back) - to) / 1000,
    lastFailureSeconds: failures.length === 0 ? 0 : (Math.max(...failures.map(({ at }) => at)) - to) / 1000,
    affected: reports.filter(({ isBack }) => !isBack).length,
    slowestMs: Math.max(...results.map(({ ms }) => ms)),
    outcomes: countBy(results.map(({ outcome }) => outcome)),
  }
}

/**
 * @param {Scenario} scenario @param {import('./redis-server.js').RedisServer} redis @param {import('./delay-proxy.js').DelayProxy} proxy
 * @param {() => number} now @returns {Promise<{ from: number, to: number }>} milliseconds since the start of the load
 */
async function runFault({ fault, faultSeconds }, redis, proxy, now) {
  await pause(faultAt * 1000)
  const from = now()
  if (fault === 'none') return { from, to: from }
  if (fault === 'kill') await redis.kill()
  else await proxy.cutOffHalf(true)
  await pause(from + faultSeconds * 1000 - now())
  if (fault === 'kill') await redis.start()
  else await proxy.cutOffHalf(false)
  return { from, to: now() }
}

/** @param {readonly string[]} names */
function countBy(names) {
  /** @type {{ [name: string]: number }} */
  const counts = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

/** @param {Awaited<ReturnType<typeof measureOutages>>} measured */
export const outagesTable = ({ rows }) =>
  rows.map((row) => ({
    fault: row.name,
    duration: `${row.faultSeconds} s`,
    'used before': percent(row.usedBefore),
    overspend: percent(row.overspend, 1),
    'before the fault ended': percent(row.overspendDuring, 1),
    'use not counted': percent(row.notCounted, 1),
    'calls during the fault': row.callsDuring,
    'refused with 503': `${row.unavailableDuring} + ${row.unavailableAfter} after`,
    'last process back after': `${row.recoverySeconds.toFixed(1)} s`,
    'slowest admission': `${Math.round(row.slowestMs)} ms`,
  }))
