import { expect, it } from 'vitest'
import { loadCodec, wireCodecs } from '../formats/codec-registry.ts'
import { streams } from '../lanes/pass-through.ts'
import { openai } from '../upstreams/openai.ts'
import { adapterFunctions } from './adapter.ts'
import { createGateway } from './create-gateway.ts'
import { fullEdition } from './full-edition.ts'
import type { Gateway } from './gateway.ts'

const create = (): Gateway =>
  createGateway({ auth: 'none', upstreams: { one: openai({ apiKey: 'k' }) }, models: { m: 'one' }, logger: false })

it('exposes no adapter-only function to users', () => {
  expect(Object.keys(create()).sort()).toEqual([
    'close',
    'describeModels',
    'explain',
    'fetch',
    'reconfigure',
    'requiresCredential',
    'routes',
    'status',
    'upgrade',
  ])
})

it('returns the same functions for a gateway and for a copy with replaced members', () => {
  const gateway = create()
  const functions = adapterFunctions(gateway)
  expect(functions.match('GET', '/v1/models')?.route.operation).toBe('list-models')
  expect(adapterFunctions({ ...gateway, fetch: () => Promise.reject(new Error('replaced')) })).toBe(functions)
})

it('has loaded all modules of a call once `loaded` resolves', async () => {
  await adapterFunctions(create()).loaded()
  expect(wireCodecs.chat.loadRequestCheck()).toBeTypeOf('function')
  expect(
    [fullEdition.parts.loadTranslation(), streams(), loadCodec('gemini')].filter((part) => part instanceof Promise),
  ).toEqual([])
})

it.each([
  ['undefined', undefined],
  ['the configuration of a gateway', { auth: 'none', upstreams: {}, models: {} }],
])('throws a TypeError for %s', (_name, value) => {
  expect(() => adapterFunctions(value as unknown as Gateway)).toThrow(
    new TypeError(
      'This is not a gateway. Pass the return value of createGateway(), from the same version of @modelgate/core.',
    ),
  )
})
