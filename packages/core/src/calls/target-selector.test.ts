import { beforeAll, describe, expect, it } from 'vitest'
import { GatewayError } from '../base/errors.ts'
import type { OnLoss } from '../config/identity.ts'
import { chatCodec } from '../formats/chat/codec.ts'
import { loadWire, registerFormats } from '../formats/codec-registry.ts'
import { everyFormat } from '../formats/every-format.ts'
import type { Loss } from '../formats/ir.ts'
import { createReport } from '../formats/loss-report.ts'
import type { Lane, RequestWriter, TargetRequest } from '../lanes/lane.ts'
import type { ResolvedTarget } from '../routing/router.ts'
import { openaiCompatible } from '../upstreams/openai-compatible.ts'
import type { Candidate, PreparingCall } from './call.ts'
import { prepareTarget } from './target-selector.ts'
import { createCandidate } from './try-targets.ts'

registerFormats(everyFormat)

const target = (more: Partial<ResolvedTarget> = {}): ResolvedTarget => ({
  id: 'up/real',
  upstreamName: 'up',
  upstream: openaiCompatible({ baseURL: 'http://up.test/v1' }),
  model: 'real',
  priority: 0,
  weight: 1,
  ...more,
})

function written(
  body: Lane['body'] = '{"model":"real"}',
  losses: readonly Loss[] = [],
  more: Partial<TargetRequest> = {},
): TargetRequest {
  const report = createReport()
  for (const loss of losses) report.add(loss)
  const never = (): never => {
    throw new Error('No response is read here.')
  }
  const lane: Lane = { kind: 'wire', upstreamFormat: 'chat', body, report, readResponse: never, openStream: never }
  return { lane, url: 'http://up.test/v1/chat/completions', codec: chatCodec, ...more }
}

function callWith(write: RequestWriter['write']): PreparingCall {
  const inbound: PreparingCall['inbound'] = {
    method: 'POST',
    path: '/',
    query: '',
    header: () => undefined,
    read: async () => new Uint8Array(),
    signal: new AbortController().signal,
  }
  const record: PreparingCall['record'] = {
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
  // `prepareTarget` reads only the loss policy of the shared context.
  return { inbound, record, writer: { write }, shared: { onLoss: 'warn' } } as unknown as PreparingCall
}
const candidateFor = (of = target()): Candidate => createCandidate(of)
const loss = (severity: Loss['severity']): Loss => ({
  path: '/seed',
  kind: 'unsupported',
  severity,
  detail: 'no seeds',
})
const prepare = (request: TargetRequest, of = target(), policy?: OnLoss) =>
  prepareTarget(
    callWith(() => request),
    candidateFor(of),
    policy,
  ) as TargetRequest

describe('defaults and overrides of a target', () => {
  const configured = { defaults: { seed: 1 }, overrides: { temperature: 0, 'a/b~c': 2 } }
  // The first edit loads its code. All others return at once.
  beforeAll(async () => {
    await loadWire('chat')
    await prepare(written('{}'), target(configured))
  })

  it('are applied, and each replaced field is reported by its pointer', () => {
    const { lane, clientBody } = prepare(written('{"temperature":1,"a/b~c":1}'), target(configured))
    expect(lane.body).toBe('{"seed":1,"temperature":0,"a/b~c":2}')
    expect(clientBody).toBe('{"temperature":1,"a/b~c":1}')
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
    ['an upload', written((async function* () {})())],
    ['a request that generates nothing', written('{"temperature":1}', [], { ignoresOverrides: true })],
  ])('do not apply to %s', (_, request) => expect(prepare(request, target(configured))).toBe(request))

  it('do not change the request if none are configured', () => {
    const request = written()
    expect(prepare(request)).toBe(request)
  })

  it('are applied before the hosting edit, which receives model and stream', () => {
    const hosting: TargetRequest['hosting'] = {
      edit: ({ body, model, stream }) => ({ set: { seen: { ...body, model, stream } } }),
    }
    const { lane } = prepare(written('{}', [], { hosting }), target({ defaults: { seed: 1 } }))
    expect(JSON.parse(lane.body as string)).toEqual({ seed: 1, seen: { seed: 1, model: 'real', stream: true } })
  })
})

describe('prepareTarget', () => {
  it.each([
    ['a synchronous writer', () => written()],
    ['an asynchronous writer', async () => written()],
  ] as const)('prepares a target once with %s', async (_, write) => {
    let count = 0
    const call = callWith(() => {
      count++
      return write()
    })
    const candidate = candidateFor()
    const first = await prepareTarget(call, candidate, undefined)
    expect(first).toBeDefined()
    expect(await prepareTarget(call, candidate, undefined)).toBe(first)
    expect([count, candidate.isOut, candidate.isLossless, candidate.refusal]).toEqual([1, false, true, undefined])
  })

  it.each([
    ['note', undefined, true, false],
    ['warn', undefined, false, false],
    ['warn', 'reject', false, true],
    ['fatal', undefined, false, true],
    ['fatal', 'warn', false, true],
  ] as const)('judges a loss (%s) by the requested policy %s', async (severity, policy, lossless, out) => {
    const call = callWith(() => written('{}', [loss(severity)]))
    const candidate = candidateFor()
    const request = await prepareTarget(call, candidate, policy)
    expect([request === undefined, candidate.isOut, candidate.isLossless]).toEqual([out, out, lossless])
    expect(candidate.refusal?.info).toEqual(
      out
        ? expect.objectContaining({ kind: 'invalid_request', param: 'seed', code: 'unsupported_parameter' })
        : undefined,
    )
    expect(call.record.losses).toEqual(out ? [loss(severity)] : [])
    expect(await prepareTarget(call, candidate, policy)).toBe(request)
  })

  it('prefers the policy of the target to that of the gateway', async () => {
    const candidate = candidateFor(target({ onLoss: 'reject' }))
    const call = callWith(() => written('{}', [loss('warn')]))
    expect(await prepareTarget(call, candidate, undefined)).toBeUndefined()
    expect([candidate.policy, candidate.isOut]).toEqual(['reject', true])
  })

  it('accepts a note of the configuration’s own overrides under the policy reject', async () => {
    const candidate = candidateFor(target({ overrides: { temperature: 0 } }))
    await prepareTarget(
      callWith(() => written('{"temperature":1}')),
      candidate,
      'reject',
    )
    expect([candidate.isOut, candidate.isLossless]).toEqual([false, true])
  })

  const boom = (): never => {
    throw new Error('sk-secret')
  }
  it.each<[string, RequestWriter['write'], string, string]>([
    ['throws', boom, 'internal', 'The request could not be translated.'],
    ['rejects', async () => boom(), 'internal', 'The request could not be translated.'],
    ['returns invalid JSON', () => written('no JSON'), 'internal', 'The request could not be translated.'],
    [
      'throws a GatewayError',
      () => {
        throw new GatewayError('model_not_found', 'No such model.')
      },
      'model_not_found',
      'No such model.',
    ],
  ])('excludes the target and records the reason if the writer %s', async (_, write, kind, message) => {
    const candidate = candidateFor(target({ overrides: { a: 1 } }))
    expect(await prepareTarget(callWith(write), candidate, undefined)).toBeUndefined()
    expect(candidate.isOut).toBe(true)
    expect(candidate.refusal?.info).toMatchObject({ kind, message })
  })

  it('rejects a policy that the caller may not request', async () => {
    const candidate = candidateFor()
    expect(
      await prepareTarget(
        callWith(() => written()),
        candidate,
        'ignore',
      ),
    ).toBeUndefined()
    expect(candidate.refusal?.info).toMatchObject({ kind: 'permission', status: 403 })
  })
})
