// Measures the cost of platform tokens per call, in this process without sockets: the check of a credential, and the
// check of its limits with settlement. Relative to the unavoidable SHA-256 of the credential.
import { createHash } from 'node:crypto'
import { createTokens, memoryStorage } from '@modelgate/tokens'
import { setting } from './placement.js'
import { createRow } from './row.js'
import { median } from './table.js'

const rounds = setting('BENCH_CODEC_ROUNDS', 15)
/** Milliseconds that a subject runs in one round. */
const slice = 20

export const tokensName = 'tokens: check of'

/** @type {unknown} */
let sink

/** @param {() => void} run @returns {number} microseconds of one run */
function time(run) {
  let count = 0
  const started = performance.now()
  let now = started
  do {
    for (let i = 0; i < 50; i++) run()
    count += 50
    now = performance.now()
  } while (now - started < slice)
  return ((now - started) * 1000) / count
}

const limits = { requests: 1e9, inputTokens: 1e12, outputTokens: 1e12, concurrent: 1e6 }

async function subjects() {
  const tokens = createTokens({ storage: memoryStorage() })
  const plain = await tokens.issue({ name: 'plain' })
  const limited = await tokens.issue({ name: 'limited', limits, budget: { period: 'month', tokens: 1e12 } })
  const budget = /** @type {const} */ ({ period: 'month', tokens: 1e12 })
  await tokens.owners.set('team', { budget })
  const owned = await tokens.issue({ name: 'owned', owner: 'team', limits, budget })
  tokens.plugin.onStart?.(/** @type {never} */ ({}))
  const request = { method: 'POST', path: '/v1/chat/completions', header: () => undefined }
  const identity = await tokens.authenticate(limited.secret, request)
  const ownedIdentity = await tokens.authenticate(owned.secret, request)
  let calls = 0
  /** @param {import('@modelgate/core').Identity | null} identity */
  const admit = (identity) =>
    tokens.plugin.admit?.({
      requestId: `req_${calls++}`,
      identity,
      operation: 'generate',
      format: 'chat',
      model: 'gpt-5',
      stream: false,
      startedAt: Date.now(),
      targets: [{ upstream: 'up', model: 'gpt-5' }],
      estimate: () => ({ input: 100, output: 100 }),
      header: () => undefined,
    })
  /** @type {import('@modelgate/core').FinishEvent & { requestId: string }} */
  const finished = {
    requestId: '',
    identity,
    operation: 'generate',
    format: 'chat',
    model: 'gpt-5',
    stream: false,
    status: 200,
    outcome: 'finished',
    losses: [],
    attempts: [],
    startedAt: Date.now(),
    durationMs: 5,
    basis: 'reported',
    usage: { input: { total: 90 }, output: { total: 40 } },
  }
  /** @param {import('@modelgate/core').Identity | null} identity */
  const admitAndSettle = (identity) => {
    const admission = admit(identity)
    if (admission === undefined || admission instanceof Promise)
      throw new Error('memory storage must respond synchronously')
    finished.requestId = `req_${calls - 1}`
    admission.settle?.(finished)
    sink = admission
  }
  return {
    /** The unavoidable minimum. */
    floor: () => {
      sink = createHash('sha256').update(plain.secret).digest('hex')
    },
    'a token': {
      most: 6,
      run: () => {
        sink = tokens.authenticate(plain.secret, request)
      },
    },
    'four limits and a budget, with settling': {
      most: 15,
      run: () => admitAndSettle(identity),
    },
    'the same and a budget of the owner, with settling': {
      most: 15,
      run: () => admitAndSettle(ownedIdentity),
    },
  }
}

/** A check must take microseconds. @returns {Promise<import('./row.js').Row[]>} */
export async function benchTokens() {
  const { floor, ...rest } = await subjects()
  const all = [floor, ...Object.values(rest).map(({ run }) => run)]
  for (const run of all) time(run)
  const micros = all.map(() => /** @type {number[]} */ ([]))
  for (let round = 0; round < rounds; round++) for (const [at, run] of all.entries()) micros[at]?.push(time(run))
  const [reference = [], ...measured] = micros
  if (sink === undefined) throw new Error('nothing was measured')
  return Object.entries(rest).map(([what, { most }], at) =>
    createRow({
      work: `${tokensName} ${what}`,
      ours: `${median(measured[at] ?? []).toFixed(2)} µs`,
      beside: `SHA-256 of a credential: ${median(reference).toFixed(2)} µs`,
      rounds: (measured[at] ?? []).map((time, round) => time / (reference[round] ?? Number.NaN)),
      reference,
      digits: 1,
      bar: { most },
    }),
  )
}
