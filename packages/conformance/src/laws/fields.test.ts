import type { Loss } from '@modelgate/core'
import { afterAll, describe, expect, test } from 'vitest'
import { gatewayTo, requestTo } from '../base/gateways.ts'
import { type Json, type JsonObject, objectOf, parseJson, textOf } from '../base/json.ts'
import type { WireFormat } from '../base/recorded-traffic.ts'
import type { Field } from './field-case.ts'
import { chatFields } from './fields-chat.ts'
import { messagesFields } from './fields-messages.ts'

const smallest: Readonly<Record<WireFormat, JsonObject>> = {
  chat: { model: 'demo', messages: [{ role: 'user', content: 'hello' }] },
  messages: { model: 'demo', max_tokens: 1000, messages: [{ role: 'user', content: 'hello' }] },
}
const answer: Readonly<Record<WireFormat, JsonObject>> = {
  chat: {
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'demo',
    choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
  },
  messages: {
    id: 'm',
    type: 'message',
    role: 'assistant',
    model: 'demo',
    content: [{ type: 'text', text: 'ok' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 1, output_tokens: 1 },
  },
}
const tables = { chat: chatFields, messages: messagesFields }
const other = (format: WireFormat): WireFormat => (format === 'chat' ? 'messages' : 'chat')

interface Told {
  readonly status: number
  /** Body that the upstream received; undefined if it was not called. */
  readonly sent: JsonObject | undefined
  readonly losses: readonly Loss[]
  readonly header: string
  readonly body: JsonObject
}

/** Sends a body to a gateway whose upstream speaks the other format. */
async function tell(format: WireFormat, body: JsonObject, onLoss: 'warn' | 'reject' = 'warn'): Promise<Told> {
  let sent: JsonObject | undefined
  let losses: readonly Loss[] = []
  const gateway = gatewayTo(other(format), {
    onLoss,
    plugins: [
      {
        name: 'witness',
        onFinish(event) {
          losses = event.losses
        },
      },
    ],
    fetch: async (_input, init) => {
      sent = objectOf(parseJson(String(init?.body)))
      return Response.json(answer[other(format)])
    },
  })
  // Only the request matters here: streaming requests get an unstreamed response.
  const response = await gateway.fetch(requestTo(format, JSON.stringify(body)))
  return {
    status: response.status,
    sent,
    losses,
    header: response.headers.get('modelgate-loss') ?? '',
    body: objectOf(parseJson(await response.text())),
  }
}

function valueAt(body: JsonObject | undefined, pointer: string): Json | undefined {
  let value: Json | undefined = body
  for (const step of pointer.split('/').slice(1))
    value = Array.isArray(value)
      ? value[Number(step)]
      : objectOf(value)[step.replaceAll('~1', '/').replaceAll('~0', '~')]
  return value
}

function expectRefused(reported: Told, field: string): void {
  expect([reported.status, reported.sent]).toEqual([400, undefined])
  const error = objectOf(reported.body.error)
  expect(`${textOf(error.param)} ${textOf(error.message)}`).toContain(field.slice(1).replaceAll('/', '.'))
  counts.refused++
}

const counts = { arrived: 0, reported: 0, refused: 0, leaves: 0 }
afterAll(() =>
  console.log(
    `fields: ${chatFields.length} of chat and ${messagesFields.length} of messages: ${counts.arrived} places where a value arrives,` +
      `${counts.reported} reported, ${counts.refused} calls rejected, ${counts.leaves} free texts followed`,
  ),
)

describe.each(['chat', 'messages'] as const)('translation of %s fields to the other format', (format) => {
  test.each(tables[format] as Field[])(
    'preserves or reports $name',
    async ({ give, arrives, lost, harmless, refused }) => {
      const reported = await tell(format, { ...smallest[format], ...give })
      if (refused) {
        expectRefused(reported, lost ?? '')
        return
      }
      expect(reported.sent, JSON.stringify(reported.body)).toBeDefined()
      for (const [pointer, value] of Object.entries(arrives ?? {})) {
        expect(valueAt(reported.sent, pointer), `${pointer} in ${JSON.stringify(reported.sent)}`).toEqual(value)
        counts.arrived++
      }
      const strict = await tell(format, { ...smallest[format], ...give }, 'reject')
      if (lost === undefined) {
        expect(arrives, 'a field must arrive or be reported').toBeDefined()
        expect(reported.losses.filter(({ severity }) => severity !== 'note')).toEqual([])
        expect(strict.sent).toBeDefined()
        return
      }
      const severity = harmless ? 'note' : 'warn'
      const loss = reported.losses.find((one) => one.path === lost && one.severity === severity)
      expect(loss, `${severity} at ${lost} among ${JSON.stringify(reported.losses)}`).toBeDefined()
      expect(loss?.detail).toMatch(/\w/)
      counts.reported++
      if (give.stream !== true)
        expect(reported.header).toContain(`"${lost}";kind=${loss?.kind};severity=${loss?.severity}`)
      if (harmless) {
        expect(strict.sent).toBeDefined()
        return
      }
      expectRefused(strict, lost)
    },
  )

  test('reports every free text that does not arrive', async () => {
    // Each text is made unique, then searched in the upstream's request and in the loss report.
    for (const { name, give, refused } of tables[format]) {
      if (refused) continue
      const { body, leaves } = marked({ ...smallest[format], ...give })
      const described = await tell(format, body)
      const sent = JSON.stringify(described.sent)
      for (const { pointer, text } of leaves) {
        counts.leaves++
        const reported = described.losses.some(({ path }) => pointer.startsWith(path) || path.startsWith(pointer))
        if (!reported) expect(sent, `${name}: ${pointer}`).toContain(text)
      }
    }
  })
})

/** Fields whose values have a meaning: a change would make another request. */
const meaning = new Set([
  ...'type role model tool_choice mode detail ttl effort verbosity service_tier reasoning_effort stop'.split(' '),
  ...'format media_type url file_data data signature id tool_use_id tool_call_id arguments modalities required'.split(
    ' ',
  ),
])

/** Returns the body with every free text made unique, and the places of these texts. */
function marked(source: JsonObject): { body: JsonObject; leaves: { pointer: string; text: string }[] } {
  const leaves: { pointer: string; text: string }[] = []
  const walk = (value: Json, pointer: string, key: string): Json => {
    if (typeof value === 'string') {
      if (meaning.has(key) || /name$/.test(key)) return value
      const text = `${value.trim()}-mark${leaves.length}.`
      leaves.push({ pointer, text })
      return text
    }
    if (Array.isArray(value)) return value.map((item, at) => walk(item, `${pointer}/${at}`, key))
    if (value === null || typeof value !== 'object') return value
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, walk(item, `${pointer}/${name}`, name)]),
    )
  }
  return { body: objectOf(walk(source, '', '')), leaves }
}
