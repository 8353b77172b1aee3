import { describe, expect, it } from 'vitest'
import { GatewayError } from '../base/errors.ts'
import { chatCodec } from '../formats/chat/codec.ts'
import type { Loss } from '../formats/ir.ts'
import { createReport } from '../formats/loss-report.ts'
import type { Lane } from '../lanes/lane.ts'
import type { ResolvedTarget } from '../routing/router.ts'
import { openaiCompatible } from '../upstreams/openai-compatible.ts'
import type { Prepare, Prepared, TargetCall } from './call.ts'
import type { Candidate } from './candidate.ts'
import { createPreparer, withTargetOverrides } from './prepare-target.ts'

const target = (more: Partial<ResolvedTarget> = {}): ResolvedTarget => ({
  id: 'up/real',
  upstreamName: 'up',
  upstream: openaiCompatible({ baseURL: 'http://up.test/v1' }),
  model: 'real',
  priority: 0,
  weight: 1,
  ...more,
})

function prepared(body: Lane['body'] = '{"model":"real"}', losses: readonly Loss[] = [], more: Partial<Prepared> = {}) {
  const report = createReport()
  for (const loss of losses) report.add(loss)
  const never = (): never => {
    throw new Error('No answer is read here.')
  }
  const lane: Lane = { kind: 'wire', upstreamFormat: 'chat', body, report, answer: never, openStream: never }
  return { lane, url: 'http://up.test/v1/chat/completions', codec: chatCodec, ...more }
}

function call(asked?: string): TargetCall {
  const inbound: TargetCall['inbound'] = {
    method: 'POST',
    path: '/',
    query: '',
    header: (name) => (name === 'modelgate-on-loss' ? asked : undefined),
    read: async () => new Uint8Array(),
    signal: new AbortController().signal,
  }
  const record: TargetCall['record'] = {
    requestId: 'r',
    operation: 'generate',
    format: 'chat',
    startedAt: 0,
    arrivedAt: 0,
    identity: null,
    model: 'm',
    stream: true,
    losses: [],
    attempts: [],
  }
  // Of what all calls share, a preparer asks for the policy alone.
  return { inbound, record, shared: { onLoss: 'warn' } } as unknown as TargetCall
}
const candidate = (of = target()): Candidate<Prepared> => ({
  target: of,
  out: false,
  calls: 0,
  readyAt: 0,
  lossless: false,
  prepared: undefined,
  policy: 'warn',
})
const loss = (severity: Loss['severity']): Loss => ({
  path: '/seed',
  kind: 'unsupported',
  severity,
  detail: 'no seeds',
})

describe('a target’s wishes for the body', () => {
  const wishes = { defaults: { seed: 1 }, overrides: { temperature: 0, 'a/b~c': 2 } }

  it('are carried out, and what is replaced is noted by its pointer', () => {
    const made = prepared('{"temperature":1,"a/b~c":1}')
    const { lane } = withTargetOverrides(target(wishes), made, call())
    expect(lane.body).toBe('{"seed":1,"temperature":0,"a/b~c":2}')
    expect(lane.report.losses).toEqual(
      [
        ['/temperature', 'temperature'],
        ['/a~1b~0c', 'a/b~c'],
      ].map(([path, field]) => ({
        path,
        kind: 'approximated',
        severity: 'note',
        detail: `${field} is set by the configuration of the model's target`,
      })),
    )
  })

  it.each([
    ['an upload', prepared((async function* () {})())],
    ['a request that asks for no answer', prepared('{"temperature":1}', [], { asIs: true })],
  ])('are not meant for %s', (_, made) => expect(withTargetOverrides(target(wishes), made, call())).toBe(made))

  it('leave what is prepared alone where there are none', () => {
    const made = prepared()
    expect(withTargetOverrides(target(), made, call())).toBe(made)
  })

  it('are there before the host’s edit, which is told model and stream', () => {
    const hosting: Prepared['hosting'] = {
      edit: ({ body, model, stream }) => ({ set: { seen: { ...body, model, stream } } }),
    }
    const { lane } = withTargetOverrides(target({ defaults: { seed: 1 } }), prepared('{}', [], { hosting }), call())
    expect(JSON.parse(lane.body as string)).toEqual({ seed: 1, seen: { seed: 1, model: 'real', stream: true } })
  })
})

describe('a preparer', () => {
  it.each([
    ['at once', () => prepared()],
    ['later', async () => prepared()],
  ] as const)('prepares a target once (%s)', async (_, make) => {
    let count = 0
    const prepare: Prepare<Prepared> = () => {
      count++
      return make()
    }
    const preparer = createPreparer(call(), prepare)
    const one = candidate()
    const first = await preparer(one)
    expect(first).toBeDefined()
    expect(await preparer(one)).toBe(first)
    expect([count, one.out, one.lossless, preparer.failure]).toEqual([1, false, true, undefined])
  })

  it.each([
    ['note', undefined, true, false],
    ['warn', undefined, false, false],
    ['warn', 'reject', false, true],
    ['fatal', undefined, false, true],
    ['fatal', 'warn', false, true],
  ] as const)('a loss (%s) under the asked policy %s', async (severity, asked, lossless, out) => {
    const asking = call(asked)
    const preparer = createPreparer(asking, () => prepared('{}', [loss(severity)]))
    const one = candidate()
    const made = await preparer(one)
    expect([made === undefined, one.out, one.lossless]).toEqual([out, out, lossless])
    expect(preparer.failure?.info).toEqual(
      out
        ? expect.objectContaining({ kind: 'invalid_request', param: 'seed', code: 'unsupported_parameter' })
        : undefined,
    )
    expect(asking.record.losses).toEqual(out ? [loss(severity)] : [])
  })

  it('goes by the target’s own policy before the gateway’s', async () => {
    const one = candidate(target({ onLoss: 'reject' }))
    expect(await createPreparer(call(), () => prepared('{}', [loss('warn')]))(one)).toBeUndefined()
    expect([one.policy, one.out]).toEqual(['reject', true])
  })

  it('a note of the configuration’s own making costs a target nothing', async () => {
    const one = candidate(target({ overrides: { temperature: 0 } }))
    await createPreparer(call('reject'), () => prepared('{"temperature":1}'))(one)
    expect([one.out, one.lossless]).toEqual([false, true])
  })

  const boom = (): never => {
    throw new Error('sk-secret')
  }
  it.each<[string, Prepare<Prepared>, string, string]>([
    ['throws', boom, 'internal', 'The request could not be translated.'],
    ['rejects', async () => boom(), 'internal', 'The request could not be translated.'],
    ['gives no JSON', () => prepared('no JSON'), 'internal', 'The request could not be translated.'],
    [
      'refuses',
      () => {
        throw new GatewayError('model_not_found', 'No such model.')
      },
      'model_not_found',
      'No such model.',
    ],
  ])('that %s puts the target out, and says why the first could not be prepared', async (_, prepare, kind, message) => {
    let first = true
    const preparer = createPreparer(call(), (...given) => {
      if (!first) throw new GatewayError('not_implemented', 'The second.')
      first = false
      return prepare(...given)
    })
    const both = [candidate(target({ overrides: { a: 1 } })), candidate()]
    for (const one of both) expect(await preparer(one)).toBeUndefined()
    expect(both.map(({ out }) => out)).toEqual([true, true])
    expect(preparer.failure?.info).toMatchObject({ kind, message })
  })

  it('refuses a caller who asks for what it may not', async () => {
    const one = candidate()
    const preparer = createPreparer(call('ignore'), () => prepared())
    expect(await preparer(one)).toBeUndefined()
    expect(preparer.failure?.info).toMatchObject({ kind: 'permission', status: 403 })
  })
})
