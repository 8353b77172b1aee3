import { type Identity, openai } from '@modelgate/core'
import { expect, expectTypeOf, it } from 'vitest'
import { defineConfig, type ModelgateConfig } from './define-config.ts'

const upstreams = { one: openai({ apiKey: 'k' }) }

it('infers the type of the identity from `auth` for routes and plugins', () => {
  const config = defineConfig({
    auth: (credential) => ({ id: credential, plan: 'pro' }),
    upstreams,
    models: { m: { upstream: 'one', when: ({ identity }) => identity?.plan === 'pro' } },
    plugins: [
      { name: 'p', onFinish: ({ identity }) => void expectTypeOf(identity?.plan).toEqualTypeOf<string | undefined>() },
    ],
  })
  expect(config.upstreams).toBe(upstreams)
})

it('accepts any identity without `auth`', () => {
  const config = defineConfig({
    upstreams,
    models: { m: 'one' },
    explain(identity) {
      expectTypeOf(identity).toEqualTypeOf<Identity | null>()
      return false
    },
  })
  expectTypeOf(config).toEqualTypeOf<ModelgateConfig<'one', Identity>>()
  expect(config.models).toEqual({ m: 'one' })
})
