import { expect } from 'vitest'
import type { ClientFormat } from '../base/client-formats.ts'
import { isObject, type JsonObject, listOf, objectOf, textOf } from '../base/json.ts'
import type { Format } from '../base/recorded-traffic.ts'
import { clientConversations } from './client-conversations.ts'
import { type Case, lossesOf, pixel, pixelBytes, rejection, type SdkFixture } from './context.ts'
import type { Conversation, Piece } from './conversation.ts'

const pdf = Buffer.from('%PDF-1.4\n%%EOF').toString('base64')
/** A WAV file without samples. */
const silence = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA='
const address = 'https://pictures.example/a.png'

/** Media that the model received, in its own terms; or the reason why not. */
type Outcome = string | 'refused' | 'left out'

interface Medium {
  readonly piece: Piece
  /** In a user message. */
  readonly shown: (upstream: Format, client: ClientFormat) => Outcome
  /** In a tool result. Default: as in a user message. */
  readonly answered?: (upstream: Format, client: ClientFormat) => Outcome
}

/** Every kind of media. Chat and responses have files, the others documents; Gemini's have no names. */
const media: Readonly<Record<string, Medium>> = {
  'an image': { piece: { image: pixel }, shown: () => `the image (image/png, ${pixelBytes} bytes)` },
  'an image by URL': {
    piece: { imageAt: address },
    shown: (upstream) => (upstream === 'gemini' ? `the image (image/png, at ${address})` : `the image (at ${address})`),
  },
  'a PDF': {
    piece: { pdf },
    shown(upstream, client) {
      // Names of Bedrock's documents have no dot.
      const name = client === 'gemini' ? 'document.pdf' : client === 'converse' ? 'paper' : 'paper.pdf'
      if (upstream === 'gemini') return 'the document (application/pdf, 14 bytes)'
      if (upstream !== 'messages') return `the file “${name}” (application/pdf, 14 bytes)`
      return `the document ${client === 'gemini' ? '' : `“${name}” `}(application/pdf, 14 bytes)`
    },
  },
  audio: {
    piece: { audio: silence },
    shown: (upstream) => (upstream === 'messages' ? 'refused' : 'the audio (audio/wav, 44 bytes)'),
    // Other formats have a place for it. A Responses upstream reads text, images and files of a tool result.
    answered: (upstream, client) =>
      upstream === 'messages'
        ? 'refused'
        : upstream === 'responses' && client !== 'responses'
          ? 'left out'
          : 'the audio (audio/wav, 44 bytes)',
  },
}
/**
 * Returns true for media that a client cannot send: chat's tools return text, Messages has no audio, tools of Responses
 * no audio. Ollama has images in base64 only.
 */
const unsayable = (client: ClientFormat, name: string, byTool: boolean): boolean =>
  client === 'ollama'
    ? name !== 'an image'
    : client === 'converse' && name === 'an image by URL'
      ? true
      : name === 'audio'
        ? client === 'messages' || (byTool && client !== 'gemini')
        : byTool && client === 'chat'

/** Paths of a part in the client's body, which an error or a loss must name. */
const places: Readonly<Record<ClientFormat, { readonly shown: RegExp; readonly answered: RegExp }>> = {
  chat: { shown: /^messages\.0\.content\.1/, answered: /^messages\.2\.content\.0/ },
  messages: { shown: /^messages\.0\.content\.1/, answered: /^messages\.2\.content\.0\.content\.0/ },
  // The SDK's chat sends each chunk of a stream back as a separate content.
  gemini: { shown: /^contents\.0\.parts\.1/, answered: /^contents\.[23]\.parts\.0\.functionResponse\.parts\.0/ },
  responses: { shown: /^input\.0\.content\.1/, answered: /^input\.2\.output\.0/ },
  ollama: { shown: /^messages\.0\.images\.0/, answered: /^messages\.2\.images\.0/ },
  converse: { shown: /^messages\.0\.content\.1/, answered: /^messages\.2\.content\.0\.toolResult\.content\.0/ },
}

async function expectOutcome(
  setting: SdkFixture,
  outcome: Outcome,
  place: RegExp,
  { piece, byTool }: { readonly piece: Piece; readonly byTool: boolean },
  call: () => Promise<{ readonly text: string }>,
): Promise<void> {
  if (outcome === 'refused') {
    const before = setting.fake.requests.length
    const error = await rejection(call())
    // AWS's errors have it apart.
    expect(error.status ?? objectOf(error.$metadata).httpStatusCode).toBe(400)
    const reported = error.param ?? /[\w.]+\.\d+[\w.]*(?=: audio)/.exec(error.message)?.[0]
    expect(reported).toMatch(place)
    expect(error.message).toContain('audio cannot be sent')
    expect(setting.fake.requests).toHaveLength(before)
    return
  }
  let text = ''
  const losses = await lossesOf(setting, async () => {
    text = (await call()).text
  })
  if (outcome === 'left out') {
    expect(losses.map(({ path }) => path.slice(1).replaceAll('/', '.'))).toEqual([expect.stringMatching(place)])
    return
  }
  expect(losses).toEqual([])
  const { upstream, fake } = setting
  if (!byTool || upstream === 'chat') {
    expect(text).toContain(outcome)
    return
  }
  const inside = JSON.stringify(resultParts(upstream, objectOf(fake.requests.at(-1)?.body)))
  expect(inside).toContain(Object.values(piece)[0])
}

/** Returns the non-text parts of a tool's result. In chat they follow in a user message. */
function resultParts(upstream: Format, body: JsonObject): readonly JsonObject[] {
  const last = (name: string): JsonObject => objectOf(listOf(body[name]).at(-1))
  switch (upstream) {
    case 'messages':
      return listOf(last('messages').content)
        .map(objectOf)
        .filter(({ type }) => type === 'tool_result')
        .flatMap(({ content }) => listOf(content).filter(isObject))
        .filter(({ type }) => type !== 'text')
    case 'gemini':
      return listOf(last('contents').parts)
        .map(objectOf)
        .flatMap(({ functionResponse }) => listOf(objectOf(functionResponse).parts).filter(isObject))
    case 'responses':
      return listOf(last('input').output)
        .filter(isObject)
        .filter(({ type }) => textOf(type) !== 'input_text')
    case 'chat':
      return []
  }
}

const toolTurn = async (talk: Conversation): Promise<void> => {
  const { tools } = await talk.sendUserMessage({ text: '[[tool:look {"city":"Paris"}]]' })
  expect(tools).toEqual([{ name: 'look', input: { city: 'Paris' } }])
}

/** Cases of media from users and tools, from each client to each upstream. */
export const mediaCases = (client: ClientFormat): readonly Case[] =>
  Object.entries(media).flatMap(([name, { piece, shown, answered = shown }]) =>
    [false, true].flatMap((stream): Case[] => {
      const mode = stream ? 'streamed' : 'unstreamed'
      const cases: Case[] = []
      if (!unsayable(client, name, false))
        cases.push({
          name: `sends ${name}, ${mode}`,
          run(setting) {
            const talk = clientConversations[client](setting, { stream })
            return expectOutcome(
              setting,
              shown(setting.upstream, client),
              places[client].shown,
              { piece, byTool: false },
              () => talk.sendUserMessage({ text: 'What is this?' }, piece),
            )
          },
        })
      if (!unsayable(client, name, true))
        cases.push({
          name: `sends ${name} in a tool result, ${mode}`,
          async run(setting) {
            const talk = clientConversations[client](setting, { stream, tools: ['look'] })
            await toolTurn(talk)
            await expectOutcome(
              setting,
              answered(setting.upstream, client),
              places[client].answered,
              { piece, byTool: true },
              () => talk.sendToolResults({ look: [piece] }),
            )
          },
        })
      return cases
    }),
  )
