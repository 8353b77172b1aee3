import { describe, expect, test } from 'vitest'
import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import { geminiCodec } from './codec.ts'
import { contextFor, list, present, readClientRequests, readExchanges } from './recorded.test-support.ts'
import { fromOpenApi, lowerTypes } from './schema-lowering.ts'
import { copyInCamelCase } from './spelling.ts'

const exchanges = readExchanges()

/**
 * Returns the form of a request after a round trip, which has the same meaning: keys in camelCase, lists in place of single
 * items, adjacent contents of one role joined, standard base64, and schemas as JSON Schema.
 */
function normalised(body: JsonObject): JsonObject {
  const { model: _model, stream: _stream, ...out } = copyInCamelCase(structuredClone(body))
  const contents: JsonObject[] = []
  for (const content of list(out.contents)) {
    const { role = 'user', parts } = copyInCamelCase(content as JsonObject)
    const wire = list(parts).map((part) => normalisedPart(part as JsonObject))
    const last = contents.at(-1)
    const same = role === 'model' ? 'model' : 'user'
    if (last?.role === same) joinParts(last.parts as JsonObject[], wire, same)
    else contents.push({ role: same, parts: wire })
  }
  out.contents = contents
  if (isObject(out.systemInstruction)) {
    out.systemInstruction = {
      parts: list(out.systemInstruction.parts).map((part) => normalisedPart(part as JsonObject)),
    }
  } else if (typeof out.systemInstruction === 'string')
    out.systemInstruction = { parts: [{ text: out.systemInstruction }] }
  if (out.tools !== undefined) normaliseTools(out)
  if (isObject(out.toolConfig)) {
    const config = copyInCamelCase(out.toolConfig)
    if (isObject(config.functionCallingConfig)) {
      const calling = copyInCamelCase(config.functionCallingConfig)
      if (typeof calling.mode === 'string') calling.mode = calling.mode.toUpperCase()
      config.functionCallingConfig = calling
    }
    out.toolConfig = config
  }
  normaliseGeneration(out)
  return out
}

/** Adjacent model contents are chunks of one response: a text continues in the next. */
function joinParts(parts: JsonObject[], [first, ...more]: JsonObject[], role: string): void {
  const last = parts.at(-1)
  const plain = (part: JsonObject | undefined) => typeof part?.text === 'string' && Object.keys(part).length === 1
  if (role === 'model' && plain(last) && plain(first) && last && first) last.text = `${last.text}${first.text}`
  else if (first !== undefined) parts.push(first)
  parts.push(...more)
}

function normalisedPart(part: JsonObject): JsonObject {
  const out = copyInCamelCase(part)
  for (const key of ['functionCall', 'functionResponse', 'inlineData', 'fileData'])
    if (isObject(out[key])) out[key] = copyInCamelCase(out[key])
  const inline = out.inlineData
  if (isObject(inline) && typeof inline.data === 'string') {
    const data = inline.data.replaceAll('-', '+').replaceAll('_', '/')
    inline.data = data.padEnd(Math.ceil(data.length / 4) * 4, '=')
  }
  const response = out.functionResponse
  if (isObject(response) && Array.isArray(response.parts))
    response.parts = response.parts.map((inner) => normalisedPart(inner as JsonObject))
  return out
}

const schemaOf = (holder: JsonObject, subset: string, full: string): void => {
  const schema = isObject(holder[full])
    ? lowerTypes(holder[full])
    : isObject(holder[subset])
      ? fromOpenApi(holder[subset])
      : undefined
  delete holder[full]
  delete holder[subset]
  if (schema !== undefined) holder.schema = schema
}

function normaliseTools(out: JsonObject): void {
  const functions: Json[] = []
  const tools: JsonObject[] = []
  for (const tool of list(out.tools)) {
    const { functionDeclarations, ...native } = copyInCamelCase(tool as JsonObject)
    for (const item of list(functionDeclarations)) {
      const declaration = copyInCamelCase(item as JsonObject)
      schemaOf(declaration, 'parameters', 'parametersJsonSchema')
      if (declaration.description === null) delete declaration.description
      if (functions.length === 0) tools.push({ functionDeclarations: functions })
      functions.push(declaration)
    }
    for (const [key, value] of Object.entries(native)) tools.push({ [key]: value })
  }
  if (tools.length === 0) delete out.tools
  else out.tools = tools
}

function normaliseGeneration(out: JsonObject): void {
  if (!isObject(out.generationConfig)) return
  const config = copyInCamelCase(out.generationConfig)
  schemaOf(config, 'responseSchema', 'responseJsonSchema')
  if (Array.isArray(config.responseModalities))
    config.responseModalities = config.responseModalities.map((modality) => String(modality).toUpperCase())
  if (isObject(config.thinkingConfig)) {
    const thinking = copyInCamelCase(config.thinkingConfig)
    if (thinking.includeThoughts === false) delete thinking.includeThoughts
    if (typeof thinking.thinkingLevel === 'string') {
      thinking.thinkingLevel = thinking.thinkingLevel.toLowerCase()
      if (thinking.thinkingLevel === 'thinking_level_unspecified') delete thinking.thinkingLevel
    }
    config.thinkingConfig = thinking
    if (Object.keys(thinking).length === 0) delete config.thinkingConfig
  }
  out.generationConfig = config
  if (Object.keys(config).length === 0) delete out.generationConfig
}

const requests = exchanges.flatMap(({ path, request, response }) =>
  isObject(request.body) && Array.isArray(request.body.contents)
    ? [{ path, body: request.body, status: response.status }]
    : [],
)
const clientRequests = readClientRequests()
const bodies = [
  ...requests.filter(({ status }) => status !== 400).map(({ path, body }) => ({ path, body })),
  ...clientRequests.map(({ path, body }) => ({ path, body })),
]

describe.skipIf(!present)('recorded gemini requests', () => {
  test('pass the validator unchanged', () => {
    expect(requests.length).toBeGreaterThan(500)
    expect(clientRequests.length).toBeGreaterThan(40)
    for (const { path, body } of bodies) {
      const copy = structuredClone(body)
      expect(geminiCodec.validateRequest(copy), path).toBe(copy)
      expect(copy, path).toEqual(body)
    }
  })

  test('survive a round trip through the IR', () => {
    for (const { path, body } of bodies) {
      const context = contextFor()
      const request = geminiCodec.decodeRequest(structuredClone(body), context)
      const back = geminiCodec.encodeRequest(request, context)
      expect(normalised(back), path).toEqual(normalised(body))
      expect(
        context.report.losses.filter(({ severity }) => severity === 'warn'),
        path,
      ).toEqual([])
    }
  })

  test('decode to turns and parts that name their place in the body', () => {
    for (const { path, body } of bodies) {
      const { turns, at = {}, tools } = geminiCodec.decodeRequest(structuredClone(body), contextFor())
      const places = [
        ...turns.flatMap((turn) => [turn.at, ...turn.parts.map((part) => part.at)]),
        ...(tools?.list ?? []).map((tool) => tool.at),
        ...Object.values(at),
      ]
      for (const place of places) expect(valueAt(body, place ?? '?'), `${path} ${place}`).toBeDefined()
    }
  })

  test('give every function response the id of its call', () => {
    let pairs = 0
    for (const { path, body } of bodies) {
      const { turns } = geminiCodec.decodeRequest(structuredClone(body), contextFor())
      const parts = turns.flatMap((turn) => turn.parts)
      const calls = parts.flatMap((part) => (part.type === 'tool-call' ? [part] : []))
      expect(new Set(calls.map(({ id }) => id)).size, path).toBe(calls.length)
      for (const part of parts) {
        if (part.type !== 'tool-result') continue
        const call = calls.find(({ id }) => id === part.callId)
        if (call === undefined) continue
        pairs++
        expect(call.name, path).toBe(part.name)
      }
    }
    expect(pairs).toBeGreaterThan(200)
  })
})

function valueAt(body: Json, place: string): Json | undefined {
  let value: Json | undefined = body
  for (const step of place.split('/').slice(1))
    value = Array.isArray(value) ? value[Number(step)] : isObject(value) ? value[step] : undefined
  return value
}
