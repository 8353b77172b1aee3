import { afterAll, describe, expect, test } from 'vitest'
import { upstreamKey } from '../base/gateways.ts'
import { formats } from '../base/recorded-traffic.ts'
import { servers } from '../base/servers.ts'
import { oddRequest, oddResponse, oddStream } from '../base/unusual-json.ts'
import { errorIn, exchangesMade, good, targetOf, useHttpFixture } from './http-fixture.ts'

for (const server of servers)
  describe(server.name, () => {
    const setting = useHttpFixture(server)

    describe('pass-through', () => {
      test.each(formats)('changes only the model’s name in either direction: %s', async (format) => {
        setting.current.fake.on({}, { raw: { body: oddResponse[format] } })
        for (const [model, upstream] of [
          [`${format}-model`, `${format}-model`],
          [`${format}-alias`, `upstream-${format}-name`],
        ] as const) {
          const path = targetOf(format, { model })
          const answer = await setting.current.call({ path, headers: good, body: oddRequest(format, model) })
          expect(answer.text).toBe(oddResponse[format])
          const arrived = setting.current.fake.requests.at(-1)
          expect([arrived?.bodyText, arrived?.model]).toEqual([oddRequest(format, upstream), upstream])
        }
      })

      test.each(formats)('leaves streams unchanged: %s', async (format) => {
        setting.current.fake.on({}, { raw: { body: oddStream[format] } })
        const options = format === 'chat' ? { stream_options: { include_usage: true } } : {}
        const answer = await setting.current.ask(format, { stream: true, ...options })
        expect(answer.text).toBe(oddStream[format])
      })
    })

    describe('misbehaving upstream', () => {
      const dialects = formats.flatMap((client) => formats.map((upstream) => [client, upstream] as const))
      test.each(dialects)(
        'becomes 502 in the dialect if its response is invalid: %s from %s',
        async (client, upstream) => {
          for (const reply of [
            { fault: { type: 'html' } },
            { fault: { type: 'empty' } },
            { raw: { body: 'null' } },
            { raw: { body: '{"half": ' } },
            { raw: { body: '[1,2]' } },
            { raw: { status: 302, headers: { location: 'http://127.0.0.1:1/elsewhere' }, body: '' } },
            { fault: { type: 'reset' } },
            { status: 401 },
            { status: 403 },
          ] as const)
            for (const stream of [false, true]) {
              setting.current.fake.reset()
              setting.current.fake.on({}, reply)
              const answer = await setting.current.ask(client, { model: `${upstream}-model`, stream })
              expect([answer.status, answer.text.slice(0, 300)], JSON.stringify({ reply, stream })).toEqual([
                502,
                answer.text.slice(0, 300),
              ])
              errorIn(client, answer)
              // A reused connection that breaks before the response may have been closed before: one retry is allowed.
              if (!('fault' in reply && reply.fault.type === 'reset'))
                expect(
                  setting.current.fake.requests,
                  'a redirect is not followed, a failure not repeated',
                ).toHaveLength(1)
            }
        },
      )

      test('cannot leak a key that it repeats in its errors', async () => {
        for (const [client, upstream] of dialects)
          for (const reply of [
            { status: 400, error: { message: `Incorrect API key provided: ${upstreamKey}` } },
            { status: 401, error: { message: `Incorrect API key provided: ${upstreamKey}` } },
            {
              status: 500,
              error: { message: `At ${setting.current.provider.origin}: ${upstreamKey}`, code: upstreamKey },
            },
          ]) {
            setting.current.fake.on({}, reply)
            const answer = await setting.current.ask(client, { model: `${upstream}-model` })
            expect(answer.status).toBeGreaterThanOrEqual(400)
            expect(answer.text).not.toContain(new URL(setting.current.provider.origin).host)
          }
        for (const [client, upstream] of dialects) {
          setting.current.fake.on(
            {},
            { fault: { type: 'error-event', after: 2, message: `failed for ${upstreamKey}` }, text: 'one two three' },
          )
          const answer = await setting.current.ask(client, { model: `${upstream}-model`, stream: true })
          expect(answer.text).toContain('error')
        }
      })
    })

    setting.searchForSecrets()
  })

afterAll(() => console.log(`wire: ${exchangesMade()} exchanges over ${servers.length} servers`))
