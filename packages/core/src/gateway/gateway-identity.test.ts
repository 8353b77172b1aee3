import { describe, expect, expectTypeOf, it } from 'vitest'
import type { Authenticate } from '../config/config.ts'
import type { Identity } from '../config/identity.ts'
import type { Plugin } from '../config/plugin.ts'
import { openai } from '../upstreams/openai.ts'
import { completion } from './create-gateway.test-support.ts'
import { createGateway } from './create-gateway.ts'

type Member = Identity & { readonly plan: 'free' | 'paid' }

const upstreams = { one: openai({ apiKey: 'k' }) }
const answer = async (): Promise<Response> => Response.json(completion)
const call = () =>
  new Request('http://gateway/v1/chat/completions?modelgate=explain', {
    method: 'POST',
    headers: { authorization: 'Bearer ada', 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x' }] }),
  })

// The type assertions fail in `tsc`; the values that hooks receive are checked when the tests run.
describe('the identity that `auth` returns', () => {
  it('is typed in every function of the configuration', async () => {
    const seen: unknown[] = []
    const gateway = createGateway({
      auth: async (credential) => ({ id: credential, plan: 'paid', seats: 3 }),
      upstreams,
      models: {
        m: {
          upstream: 'one',
          when({ identity }) {
            expectTypeOf(identity).toEqualTypeOf<{ id: string; plan: string; seats: number } | null>()
            seen.push(identity?.plan)
            return true
          },
        },
      },
      explain(identity) {
        expectTypeOf(identity).toEqualTypeOf<{ id: string; plan: string; seats: number } | null>()
        seen.push(identity?.seats)
        return true
      },
      plugins: [
        {
          name: 'hooks',
          onRequest: ({ identity }) => void expectTypeOf(identity?.seats).toEqualTypeOf<number | undefined>(),
          admit({ identity }) {
            expectTypeOf(identity?.plan).toEqualTypeOf<string | undefined>()
            return {
              settle: (event) => void expectTypeOf(event.identity?.plan).toEqualTypeOf<string | undefined>(),
            }
          },
          costOf({ identity }) {
            expectTypeOf(identity?.plan).toEqualTypeOf<string | undefined>()
            return undefined
          },
          onFinish: ({ identity }) => void expectTypeOf(identity?.plan).toEqualTypeOf<string | undefined>(),
        },
      ],
      fetch: answer,
      logger: false,
    })
    expect((await gateway.fetch(call())).status).toBe(200)
    expect(seen).toEqual([3, 'paid'])
    await gateway.close()
  })

  it('can be declared, and has the general type in plugins of other packages', () => {
    const authenticate: Authenticate<Member> = (credential) => ({ id: credential, plan: 'free' })
    const ofAnotherPackage: Plugin = { name: 'other', onFinish: ({ identity }) => void identity?.anything }
    createGateway({
      auth: authenticate,
      upstreams,
      models: { m: { upstream: 'one', when: ({ identity }) => identity?.plan === 'paid' } },
      plugins: [
        ofAnotherPackage,
        {
          name: 'own',
          onFinish({ identity }) {
            expectTypeOf(identity?.plan).toEqualTypeOf<Member['plan'] | undefined>()
            // @ts-expect-error: 'gold' is not a plan of Member
            return void (identity?.plan === 'gold')
          },
        },
      ],
      logger: false,
    })
  })

  it("has the general type with auth: 'none'", () => {
    createGateway({
      auth: 'none',
      upstreams,
      models: { m: 'one' },
      explain(identity) {
        expectTypeOf(identity).toEqualTypeOf<Identity | null>()
        return false
      },
      logger: false,
    })
  })

  it('requires an id', () => {
    const options = { upstreams, models: { m: 'one' }, logger: false } as const
    // @ts-expect-error: an identity without an id
    expect(() => createGateway({ ...options, auth: () => ({ plan: 'free' }) })).not.toThrow()
  })
})
