import type { Answer, Format, Json, JsonObject, Piece, Turn } from './format.ts'
import {
  countOf,
  errorPiece,
  failedWithoutWords,
  inputText,
  listOf,
  objectOf,
  parseData,
  sumOf,
  textOf,
  textPieces,
} from './read.ts'

/** Google's generateContent: the path names the model and selects streaming. */
export const gemini: Format = {
  id: 'gemini',
  name: 'generateContent',
  lacks: [],
  build(turns, { model, system, temperature, maxTokens, topP, stop, seed, effort, schema, stream, tools }) {
    const body: JsonObject = { contents: turns.map(contentOf) }
    if (system !== '') body.systemInstruction = { parts: [{ text: system }] }
    const config: JsonObject = {}
    if (temperature !== undefined) config.temperature = temperature
    if (maxTokens !== undefined) config.maxOutputTokens = maxTokens
    if (topP !== undefined) config.topP = topP
    if (stop !== undefined) config.stopSequences = [...stop]
    if (seed !== undefined) config.seed = seed
    if (effort !== undefined) config.thinkingConfig = { thinkingLevel: effort }
    if (schema !== undefined) {
      config.responseMimeType = 'application/json'
      config.responseJsonSchema = schema
    }
    if (Object.keys(config).length > 0) body.generationConfig = config
    if (tools.length > 0)
      body.tools = [
        {
          functionDeclarations: tools.map(({ name, description, schema }) => ({
            name,
            description,
            parametersJsonSchema: schema,
          })),
        },
      ]
    const action = stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
    return {
      path: `/v1beta/models/${model.split('/').map(encodeURIComponent).join('/')}:${action}`,
      headers: { 'content-type': 'application/json' },
      body,
    }
  },
  credential: (token) => ({ 'x-goog-api-key': token }),
  readEvent({ data }) {
    const chunk = parseData(data)
    return chunk === undefined ? [] : readChunk(chunk)
  },
  readAnswer: readChunk,
}

function contentOf(turn: Turn): Json {
  if (turn.role === 'assistant') return { role: 'model', parts: modelParts(turn) }
  const parts: Json[] = (turn.results ?? []).map(({ call: { id, name }, content, failed }) => ({
    functionResponse: {
      name,
      ...(id === '' ? {} : { id }),
      response: failed ? { error: content } : (parseData(content) ?? { output: content }),
    },
  }))
  parts.push(
    ...[...turn.images, ...(turn.files ?? [])].map(({ type, data }) => ({ inlineData: { mimeType: type, data } })),
  )
  if (turn.text !== '') parts.push({ text: turn.text })
  return { role: 'user', parts }
}

const modelParts = ({ text, toolCalls }: Answer): Json[] => [
  ...(text === '' && toolCalls.length > 0 ? [] : [{ text }]),
  ...toolCalls.map(({ id, name, input, signature }) => ({
    functionCall: { name, args: parseData(input) ?? {}, ...(id === '' ? {} : { id }) },
    ...(signature === undefined ? {} : { thoughtSignature: signature }),
  })),
]

function readChunk(chunk: JsonObject): readonly Piece[] {
  if (chunk.error !== undefined && chunk.error !== null) return [errorPiece(chunk, failedWithoutWords)]
  const candidate = listOf(chunk.candidates)[0] ?? {}
  const blocked = objectOf(chunk.promptFeedback).blockReason
  const reason = textOf(candidate.finishReason) || textOf(blocked)
  return [
    ...listOf(objectOf(candidate.content).parts).flatMap(partOf),
    ...(reason === '' ? [] : [{ type: 'finish' as const, reason }]),
    ...usageOf(objectOf(chunk.usageMetadata)),
  ]
}

function partOf(part: JsonObject, index: number): readonly Piece[] {
  if (part.functionCall === undefined) return textPieces(part.thought === true ? 'reasoning' : 'text', part.text)
  // A call arrives whole, in a chunk of its own or with others.
  const { id, name, args } = objectOf(part.functionCall)
  return [
    {
      type: 'tool-call',
      index,
      name: textOf(name),
      input: inputText(args ?? {}),
      ...(textOf(id) === '' ? {} : { id: textOf(id) }),
      ...(textOf(part.thoughtSignature) === '' ? {} : { signature: textOf(part.thoughtSignature) }),
    },
  ]
}

/** Thoughts are counted separately from the output, and tool results separately from the prompt. */
function usageOf(usage: JsonObject): readonly Piece[] {
  const input = sumOf(usage.promptTokenCount, usage.toolUsePromptTokenCount)
  const output = sumOf(usage.candidatesTokenCount, usage.thoughtsTokenCount)
  if (input === undefined && output === undefined) return []
  const cached = countOf(usage.cachedContentTokenCount)
  return [{ type: 'usage', usage: { input, output, cached, reasoning: countOf(usage.thoughtsTokenCount) } }]
}
