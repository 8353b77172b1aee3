import {
  codecOf,
  type JsonObject,
  ollamaGenerateCodec,
  type UpstreamCodec,
  upstreamCodecs,
} from '@modelgate/core/test-support'
import { afterAll, describe, expect, test } from 'vitest'
import type { Meaning } from './field-arrival.ts'
import { chatWalk, generateWalk } from './ollama-requests.ts'
import { sendRequest } from './request-translations.ts'
import { type Exemption, type Outcome, travel } from './verdict.ts'
import { type Probe, probesOf } from './walk.ts'

const clients = [
  { path: '/api/chat', client: codecOf('ollama'), probes: probesOf(chatWalk) },
  { path: '/api/generate', client: ollamaGenerateCodec, probes: probesOf(generateWalk) },
]

const models: Readonly<Record<UpstreamCodec['format'], string>> = {
  chat: 'gpt-next',
  messages: 'claude-next',
  gemini: 'house-model',
  responses: 'gpt-next',
  converse: 'anthropic.claude-next',
}

/** Values that other formats express differently. All others must arrive unchanged. */
const meanings: readonly Meaning[] = [
  { at: /^\/think/, value: true, as: ['medium'] },
  { at: /^\/think/, value: false, as: ['disabled', 0] },
  { at: /^\/logprobs$/, value: true, as: ['message.output_text.logprobs'] },
]

const silence = 'means the same as an absent field'

/** Kept minimal: a test fails for an entry without effect. */
const exemptions: readonly Exemption[] = [
  { from: 'ollama', at: /^\/(logprobs|raw|tools.*\/strict)$/, value: false, why: silence },
  { from: 'ollama', at: /\/tool_calls\/\*\/function\/index$/, why: 'calls arrive in the order of their list' },
  {
    from: 'ollama',
    at: /\/tool_name$/,
    to: ['messages', 'responses', 'converse'],
    why: 'the result refers to its call by id, which arrives; the name is redundant',
  },
]

const needed = new Set<Meaning | Exemption>()

const outcomeOf = ({ client, probes }: (typeof clients)[number], upstream: UpstreamCodec): Outcome =>
  travel(probes, {
    from: 'ollama',
    to: upstream.format,
    humble: false,
    meanings,
    exemptions,
    needed,
    send: (body) => sendRequest(client, upstream, models[upstream.format], body),
  })

const pairs = clients.flatMap((from) => upstreamCodecs.map((upstream) => ({ ...from, upstream, to: upstream.format })))

describe("request fields of Ollama's clients", () => {
  const lines: string[] = []
  afterAll(() => console.log(`request fields of Ollama:\n${lines.join('\n')}`))

  test.each(clients)('are accepted by the validator of $path', ({ client, probes }) => {
    const refused = probes.flatMap(({ path, body, value }: Probe) => {
      try {
        client.validateRequest(structuredClone(body))
        return []
      } catch (error) {
        return [`${path} = ${JSON.stringify(value)}: ${error instanceof Error ? error.message : String(error)}`]
      }
    })
    expect(refused).toEqual([])
    expect(new Set(probes.map(({ path }) => path)).size).toBeGreaterThan(45)
  })

  test.each(pairs)('arrive or are reported: $path → $to', ({ upstream, ...from }) => {
    const { kept, reported, exempt, lost } = outcomeOf(from, upstream)
    lines.push(`  ${from.path} → ${upstream.format}: ${kept} kept, ${reported} reported, ${exempt} exempt`)
    expect(lost).toEqual([])
  })

  test.each([
    ['/options/top_p', ({ top_p: _, ...rest }: JsonObject) => rest],
    ['/think[string]', ({ reasoning_effort: _, ...rest }: JsonObject) => rest],
    ['/options/stop[array]/*', ({ stop: _, ...rest }: JsonObject) => rest],
  ])('would be detected as missing if dropped: %s', (path, spoil) => {
    const { lost } = travel(probesOf(chatWalk), {
      from: 'ollama',
      to: 'chat',
      humble: false,
      meanings,
      exemptions,
      needed: new Set(),
      send(body) {
        const { sent, losses } = sendRequest(codecOf('ollama'), codecOf('chat'), models.chat, body)
        return { sent: spoil(sent), losses: losses.filter(({ path: at }) => at !== '/think') }
      },
    })
    expect(lost.map((line) => line.split(' = ')[0])).toContain(path)
  })

  test('need every entry of the exemption tables', () => {
    for (const { upstream, ...from } of pairs) outcomeOf(from, upstream)
    expect([...meanings, ...exemptions].filter((entry) => !needed.has(entry))).toEqual([])
  })
})
