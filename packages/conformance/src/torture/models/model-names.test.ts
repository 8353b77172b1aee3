import { createGateway } from '@modelgate/core'
import { describe, expect, it } from 'vitest'
import { noSharedHealth, upstreamOf } from '../../base/gateways.ts'
import { formats, fullRun } from '../../base/recorded-traffic.ts'
import { casesOf, controlOf, faultOf, type ModelCase, type Observed } from './matrix.ts'
import { realtimeCases } from './realtime-cases.ts'
import { listedModels, namingRoutes, type Surface, sampleKey, samples, surfaces } from './surfaces.ts'

function setUp(identity: { id: string; models?: readonly string[] }) {
  let called = 0
  const gateway = createGateway({
    auth: () => identity,
    upstreams: Object.fromEntries(formats.map((format) => [format, upstreamOf(format)])),
    models: { ...Object.fromEntries(formats.map((format) => [`${format}-model`, format])), 'other-model': 'chat' },
    retry: false,
    breaker: false,
    health: noSharedHealth,
    explain: true,
    logger: false,
    fetch: async () => {
      called++
      return Response.json({ error: { message: 'played' } }, { status: 400 })
    },
  })
  return async ({ surface, headers, body }: Pick<ModelCase, 'surface' | 'headers' | 'body'>): Promise<Observed> => {
    const before = called
    const response = await gateway.fetch(`http://gw${surface.path}`, {
      method: 'POST',
      headers: { ...headers, authorization: 'Bearer token' },
      body: body as BodyInit,
    })
    return { status: response.status, text: await response.text(), reached: called > before }
  }
}

async function faultsOf(surface: Surface, large: boolean): Promise<{ count: number; faults: string[] }> {
  const ask = setUp({ id: 'me', models: listedModels })
  const control = await ask(controlOf(surface))
  const faults: string[] = []
  const cases = casesOf(surface, { large })
  for (const one of cases) {
    const fault = faultOf(one, await ask(one), control)
    if (fault !== undefined) faults.push(`${one.name}: ${fault}`)
  }
  return { count: cases.length, faults: faults.slice(0, 10) }
}

describe('caller with a model list', () => {
  it.each(surfaces)('reaches no other model with any member of a request: $name', async (surface) => {
    const { count, faults } = await faultsOf(surface, false)
    expect(faults).toEqual([])
    expect(count).toBeGreaterThan(40)
  })

  const passing = surfaces.filter(({ lane, parts }) => lane === 'wire' && parts === undefined)
  // All operations read large requests with the same code, so a third of the surfaces suffices.
  const large = passing.filter((_, at) => fullRun || at % 3 === 0)
  it.each(large)('reaches no other model with a large request: $name', async (surface) => {
    expect((await faultsOf(surface, true)).faults).toEqual([])
  })

  it('reaches no other model with an event of a realtime session', async () => {
    const { count, faults } = await realtimeCases()
    expect(faults).toEqual([])
    expect(count).toBeGreaterThan(100)
  })
})

describe('matrix of model names', () => {
  it('has a sample for every route whose requests may name a model', () => {
    expect(namingRoutes.map(sampleKey).filter((key) => samples[key] === undefined)).toEqual([])
  })

  it('sends every declared place of every route', () => {
    const sent = new Set(
      surfaces.flatMap((surface) => casesOf(surface).map(({ place }) => `${surface.name}: ${place}`)),
    )
    const declared = surfaces.flatMap(({ name, places: { list } }) =>
      [...list.names, ...Object.keys(list.chooses ?? {})].map((place) => `${name}: ${place}`),
    )
    expect(declared.filter((one) => !sent.has(one))).toEqual([])
    expect(new Set(surfaces.map(({ places }) => places)).size).toBeGreaterThan(formats.length)
  })

  it('detects a request that is accepted by mistake', async () => {
    // A caller without a list may name every model: the same cases must all reach the upstream.
    const [surface] = surfaces
    if (surface === undefined) throw new Error('no surfaces')
    const ask = setUp({ id: 'me' })
    const control = await ask(controlOf(surface))
    const unlisted = casesOf(surface).filter(({ variant, place }) => variant === 'unlisted' && place !== 'model')
    for (const one of unlisted) expect(faultOf(one, await ask(one), control), one.name).toContain('not refused')
  })
})
