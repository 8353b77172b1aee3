import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gemini } from '@modelgate/core'
import { createRealtimeSession, until } from '@modelgate/testing/test-support'
import { describe, expect, it } from 'vitest'
import { type RecordedMessage, readCassette } from '../base/cassette.ts'
import { upstreamKey } from '../base/gateways.ts'
import { isObject, type Json, type JsonObject } from '../base/json.ts'
import { whyNoRecordings } from '../base/recorded-traffic.ts'
import { sessionOf, startRealtime } from './realtime-fixture.ts'

const shared = process.env.MODELGATE_SHARED ?? fileURLToPath(new URL('../../../../../shared', import.meta.url))
const folder = join(shared, 'fixtures', 'pydantic-ai', 'realtime-ws')
/** Sessions over WebSockets with OpenAI's events: OpenAI's own, Azure's and xAI's. */
const names = existsSync(folder)
  ? readdirSync(folder).filter((name) => /openai|azure|xai/.test(name) && !/webrtc|sideband/.test(name))
  : []
if (names.length === 0) console.warn(whyNoRecordings)

/** Sessions of Gemini's Live API. */
const liveNames = existsSync(folder)
  ? readdirSync(folder).filter((name) => /google/.test(name) && !/gateway/.test(name))
  : []

const cassette = (name: string): readonly RecordedMessage[] => readCassette(readFileSync(join(folder, name), 'utf8'))
const usageIn = (data: Json): JsonObject[] => {
  const response = isObject(data) && data.type === 'response.done' ? data.response : undefined
  return isObject(response) && isObject(response.usage) ? [response.usage] : []
}

describe.skipIf(names.length === 0)('recorded sessions', () => {
  it('include more than ten sessions', () => expect(names.length).toBeGreaterThan(10))

  it.each(names)('pass byte for byte and in order in both directions, with usage counted: %s', async (name) => {
    const messages = cassette(name)
    const texts = (direction: string) =>
      messages.filter((message) => message.direction === direction).map(({ data }) => JSON.stringify(data))
    const setting = await startRealtime(undefined, { fake: { mute: true } })
    const client = setting.ws()
    await client.opened
    const session = await sessionOf(setting)
    for (const { direction, data } of messages) {
      if (direction === 'received') await session.send(JSON.stringify(data))
      else client.socket.send(JSON.stringify(data))
    }
    const received = texts('received')
    await until(() => client.messages.length === received.length, 'all events')
    expect(client.messages).toEqual(received)
    const sent = texts('sent')
    await until(() => session.received.length === sent.length, 'all events of the client')
    expect(session.received).toEqual(sent)
    client.socket.close()
    await until(() => setting.finished.length === 1, 'the end')
    const used = messages.flatMap(({ data }) => usageIn(data))
    const sum = (field: string) => used.reduce((all, usage) => all + Number(usage[field] ?? 0), 0)
    const counted = setting.finished[0]?.usage
    expect([counted?.input.total ?? 0, counted?.output.total ?? 0]).toEqual([sum('input_tokens'), sum('output_tokens')])
  })

  it('have the same order and fields of events as the fake provider', () => {
    const recorded = cassette(names.find((name) => name.endsWith('openai_ws__test_text_in_audio_out_turn.yaml')) ?? '')
    const machine = createRealtimeSession('gpt-realtime')
    const faked: Json[] = machine.openingEvents()
    for (const { direction, data } of recorded)
      if (direction === 'sent') faked.push(...machine.receive(JSON.stringify(data)))
    const real = recorded.flatMap(({ direction, data }) => (direction === 'received' ? [data] : []))
    const types = (events: readonly Json[]) =>
      events
        .map((event) => (isObject(event) ? String(event.type) : ''))
        .filter((type, index, all) => type !== all[index - 1])
    // Additional events of the real API: account limits, and another order of the final events.
    const left = (type: string) => type !== 'rate_limits.updated'
    expect([...types(faked)].sort()).toEqual([...types(real).filter(left)].sort())
    const fieldsOf = (events: readonly Json[]) =>
      Object.fromEntries(
        events.flatMap((event) => (isObject(event) ? [[String(event.type), Object.keys(event).sort()]] : [])),
      )
    const optional = 'obfuscation'
    for (const [type, fields] of Object.entries(fieldsOf(real)))
      if (left(type))
        expect([type, fieldsOf(faked)[type]]).toEqual([type, fields.filter((field) => field !== optional)])
  })
})

describe.skipIf(liveNames.length === 0)("recorded sessions of Gemini's Live API", () => {
  it('include more than four sessions', () => expect(liveNames.length).toBeGreaterThan(4))

  it.each(liveNames)('pass byte for byte and in order, with the usage of each turn counted: %s', async (name) => {
    const [first, ...messages] = cassette(name)
    const setting = await startRealtime(undefined, {
      fake: { mute: true },
      config: (fake) => ({
        upstreams: { google: gemini({ apiKey: upstreamKey, baseURL: fake.url.replace(/\/v1$/, '') }) },
        models: { '*': 'google' },
      }),
    })
    const path = '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent'
    const client = setting.ws(path)
    await client.opened
    const setup = JSON.stringify(first?.data)
    client.socket.send(setup)
    const session = await sessionOf(setting)
    const texts = (direction: string) =>
      messages.filter((message) => message.direction === direction).map(({ data }) => JSON.stringify(data))
    for (const { direction, data } of messages) {
      if (direction === 'received') await session.send(JSON.stringify(data))
      else client.socket.send(JSON.stringify(data))
    }
    const received = texts('received')
    await until(() => client.messages.length === received.length, 'all messages')
    expect(client.messages.map(String)).toEqual(received)
    expect(client.messages.every((message) => Buffer.isBuffer(message))).toBe(true)
    const sent = [setup, ...texts('sent')]
    await until(() => session.received.length === sent.length, 'all messages of the client')
    expect(session.received).toEqual(sent)
    client.socket.close()
    await until(() => setting.finished.length === 1, 'the end')
    const used = messages.flatMap(({ data }) =>
      isObject(data) && isObject(data.usageMetadata) ? [data.usageMetadata] : [],
    )
    const sum = (...fields: string[]) =>
      used.reduce((all, usage) => all + fields.reduce((one, field) => one + Number(usage[field] ?? 0), 0), 0)
    const counted = setting.finished[0]?.usage
    expect([counted?.input.total ?? 0, counted?.output.total ?? 0]).toEqual([
      sum('promptTokenCount', 'toolUsePromptTokenCount'),
      sum('responseTokenCount', 'candidatesTokenCount', 'thoughtsTokenCount'),
    ])
  })
})
