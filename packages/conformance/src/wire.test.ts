import { afterAll, describe, expect, test } from 'vitest'
import type { WireFormat } from './fixtures.ts'
import { upstreamKey } from './gateways.ts'
import { bodyOf, errorIn, exchangesMade, formats, useHttpSetting } from './http-setting.ts'
import { servers } from './servers.ts'

for (const server of servers)
  describe(server.name, () => {
    const setting = useHttpSetting(server)

    describe('the wire lane', () => {
      const odd = (format: WireFormat, model: string): string =>
        `{ "seed":12345678901234567890 ,\n\t"model"  :"${model}", "new_field":{"a":1.0,"a":2e2,"__proto__":{"x":1}},` +
        `"messages":[{"role":"user","content":"\\u0041 \\/ 🙂 ${'é'}"}]${format === 'messages' ? ',"max_tokens":007e0' : ''} }`.replace(
          '007e0',
          '7e0',
        )
      const whole = (format: WireFormat): string =>
        format === 'chat'
          ? '{ "id":"x","big":98765432109876543210, "choices" :[{"index":0,"message":{"role":"assistant","content":"\\u0041"},"finish_reason":"stop"}],"a":1,"a":2}\n'
          : '{"type":"message", "id":"m","big":98765432109876543210,"role":"assistant","content":[{"type":"text","text":"\\u0041"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1.0}}'
      const stream = (format: WireFormat): string =>
        format === 'chat'
          ? ': hello\r\n\r\ndata:{"id":"x","choices":[{"index":0,"delta":{"content":"\\u0041"},"finish_reason":"stop"}],"big":98765432109876543210}\r\n\r\ndata: [DONE]\r\n\r\n'
          : 'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":1,"output_tokens":1}}   }\n\nevent: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"new_block"}}\n\nevent: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n'

      test.each(formats)('%s: bytes go both ways as they are, but for the model’s name', async (format) => {
        setting.current.fake.on({}, { raw: { body: whole(format) } })
        for (const [model, upstream] of [
          [`${format}-model`, `${format}-model`],
          [`${format}-alias`, `upstream-${format}-name`],
        ] as const) {
          const answer = await setting.current.post(format, odd(format, model))
          expect(answer.text).toBe(whole(format))
          expect(setting.current.fake.requests.at(-1)?.bodyText).toBe(odd(format, upstream))
        }
      })

      test.each(formats)('%s: streams pass as they are', async (format) => {
        setting.current.fake.on({}, { raw: { body: stream(format) } })
        const options = format === 'chat' ? { stream_options: { include_usage: true } } : {}
        const answer = await setting.current.post(format, bodyOf(format, { stream: true, ...options }))
        expect(answer.text).toBe(stream(format))
      })
    })

    describe('upstreams that misbehave', () => {
      const dialects = formats.flatMap((client) => formats.map((upstream) => [client, upstream] as const))
      test.each(dialects)('%s from %s: what is no answer is 502 in the dialect', async (client, upstream) => {
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
            const answer = await setting.current.post(client, bodyOf(client, { model: `${upstream}-model`, stream }))
            expect([answer.status, answer.text.slice(0, 300)], JSON.stringify({ reply, stream })).toEqual([
              502,
              answer.text.slice(0, 300),
            ])
            errorIn(client, answer)
            // A used connection that breaks before the answer may have been closed long ago: one more try is allowed then.
            if (!('fault' in reply && reply.fault.type === 'reset'))
              expect(setting.current.fake.requests, 'a redirect is not followed, a failure not repeated').toHaveLength(
                1,
              )
          }
      })

      test('an upstream that repeats the key in its errors does not betray it', async () => {
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
            const answer = await setting.current.post(client, bodyOf(client, { model: `${upstream}-model` }))
            expect(answer.status).toBeGreaterThanOrEqual(400)
            expect(answer.text).not.toContain(new URL(setting.current.provider.origin).host)
          }
        for (const [client, upstream] of dialects) {
          setting.current.fake.on(
            {},
            { fault: { type: 'error-event', after: 4, message: `failed for ${upstreamKey}` }, text: 'one two three' },
          )
          const answer = await setting.current.post(
            client,
            bodyOf(client, { model: `${upstream}-model`, stream: true }),
          )
          expect(answer.text).toContain('error')
        }
      })
    })

    setting.searchForSecrets()
  })

afterAll(() => console.log(`wire: ${exchangesMade()} exchanges over ${servers.length} servers`))
