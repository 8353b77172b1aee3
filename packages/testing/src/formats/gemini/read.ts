import type { Json, JsonObject } from '../../base/json.ts'
import { asList, asNumber, asObject, asString, base64Bytes, isObject } from '../../base/json.ts'
import { countTokens } from '../../base/tokens.ts'
import type {
  Prompt,
  PromptMedia,
  PromptToolChoice,
  PromptToolResult,
  PromptTurn,
  Segment,
} from '../../contract/prompt.ts'
import type { Route } from '../route.ts'
import { readGeminiJson } from './read-json.ts'

const mediaTokens = 258
const messageTokens = 3

/** Returns the request in one spelling. A count request may wrap the request it counts. */
export function geminiRequestOf(body: JsonObject, route: Route): JsonObject {
  if (route.operation !== 'count-tokens') return readGeminiJson(body, 'GenerateContentRequest').value
  const { value } = readGeminiJson(body, 'CountTokensRequest')
  return isObject(value.generateContentRequest) ? value.generateContentRequest : value
}

/** Reads a checked generateContent request as a model would. */
export function readGemini(body: JsonObject, route: Route): Prompt {
  const request = geminiRequestOf(body, route)
  const contents = asList(request.contents).map(asObject)
  const config = asObject(request.generationConfig)
  const calling = asObject(asObject(request.toolConfig).functionCallingConfig)
  return {
    format: 'gemini',
    model: route.model ?? asString(request.model),
    stream: route.stream === true,
    system: textOf(asObject(request.systemInstruction)),
    turns: turnsOf(modelTurns(contents)),
    tools: asList(request.tools)
      .flatMap((tool) => asList(asObject(tool).functionDeclarations))
      .map(asObject)
      .map((tool) => ({
        name: asString(tool.name),
        schema: asObject(tool.parametersJsonSchema ?? tool.parameters),
        custom: false,
      })),
    toolChoice: choiceOf(calling),
    parallelTools: true,
    reasoning: reasoningOf(asObject(config.thinkingConfig)),
    output: outputOf(config),
    stop: asList(config.stopSequences).filter((stop) => typeof stop === 'string'),
    maxTokens: asNumber(config.maxOutputTokens),
    choices: asNumber(config.candidateCount) ?? 1,
    logprobs: config.responseLogprobs === true ? (asNumber(config.logprobs) ?? 0) : undefined,
    includeUsage: true,
    segments: segmentsOf(request, contents),
  }
}

/**
 * Joins adjacent model contents into one turn: the official client sends back each chunk of a stream as a content of its own.
 * (It may also send tool results in the model's role: those are separate turns.)
 */
export function modelTurns(contents: readonly JsonObject[]): JsonObject[] {
  const turns: JsonObject[] = []
  for (const content of contents) {
    const last = turns.at(-1)
    if (last?.role === 'model' && content.role === 'model' && ![last, content].some(answers))
      turns[turns.length - 1] = { ...last, parts: [...partsOf(last), ...partsOf(content)] }
    else turns.push(content)
  }
  return turns
}

const answers = (content: JsonObject): boolean => partsOf(content).some((part) => isObject(part.functionResponse))

export const partsOf = (content: JsonObject): JsonObject[] => asList(content.parts).map(asObject)

/** Returns the text. Returned thoughts are the model's own, and not part of it. */
const textOf = (content: JsonObject): string =>
  partsOf(content)
    .filter((part) => typeof part.text === 'string' && part.text !== '' && part.thought !== true)
    .map((part) => asString(part.text))
    .join('\n')

const mediaOf = (parts: readonly JsonObject[]): PromptMedia[] =>
  parts.flatMap((part): PromptMedia[] => {
    const blob = isObject(part.inlineData) ? part.inlineData : undefined
    const file = isObject(part.fileData) ? part.fileData : undefined
    if (!blob && !file) return []
    const mediaType = asString(blob?.mimeType ?? file?.mimeType)
    return [
      {
        kind: kindOf(mediaType),
        mediaType,
        bytes: blob ? base64Bytes(asString(blob.data)) : undefined,
        data: blob ? asString(blob.data) : undefined,
        url: file ? asString(file.fileUri) : undefined,
        title: undefined,
        text: undefined,
        citable: false,
      },
    ]
  })

function kindOf(mediaType: string): PromptMedia['kind'] {
  const [family] = mediaType.split('/')
  if (family === 'image' || family === 'audio') return family
  return family === 'text' || mediaType === 'application/pdf' ? 'document' : 'file'
}

function turnsOf(contents: readonly JsonObject[]): PromptTurn[] {
  // Calls need no id: a result without one is matched by its name, in order.
  let open: { id: string; name: string }[] = []
  return contents.map((content, turn): PromptTurn => {
    const parts = partsOf(content)
    const calls = parts
      .filter((part) => isObject(part.functionCall))
      .map((part, index) => {
        const call = asObject(part.functionCall)
        return { id: asString(call.id) || `${turn}.${index}`, name: asString(call.name) }
      })
    const results = parts
      .filter((part) => isObject(part.functionResponse))
      .map((part) => resultOf(asObject(part.functionResponse), open))
    if (calls.length > 0) open = [...calls]
    return {
      role: content.role === 'model' ? 'assistant' : 'user',
      text: textOf(content),
      media: mediaOf(parts),
      toolCalls: calls,
      toolResults: results,
    }
  })
}

function resultOf(answer: JsonObject, open: { id: string; name: string }[]): PromptToolResult {
  const id = asString(answer.id)
  const name = asString(answer.name)
  const place = open.findIndex((call) => (id === '' ? call.name === name : call.id === id))
  const [call] = place < 0 ? [] : open.splice(place, 1)
  const response = asObject(answer.response)
  const failure = response.error
  const text = failure ?? response.output ?? response.result ?? response
  return {
    id: call?.id ?? id,
    name: name || call?.name,
    text: typeof text === 'string' ? text : JSON.stringify(text),
    media: mediaOf(asList(answer.parts).map(asObject)),
    isError: failure !== undefined,
  }
}

function choiceOf(calling: JsonObject): PromptToolChoice {
  const allowed = asList(calling.allowedFunctionNames).filter((name) => typeof name === 'string')
  if (calling.mode === 'NONE') return 'none'
  const mode = calling.mode === 'ANY' ? 'required' : 'auto'
  return allowed.length > 0 ? { allowed, mode } : mode
}

function reasoningOf(thinking: JsonObject): Prompt['reasoning'] {
  if (thinking.thinkingBudget === 0) return 'off'
  if (thinking.includeThoughts === true) return 'shown'
  const level = asString(thinking.thinkingLevel, 'THINKING_LEVEL_UNSPECIFIED')
  return thinking.thinkingBudget !== undefined || level !== 'THINKING_LEVEL_UNSPECIFIED' ? 'omitted' : 'off'
}

function outputOf(config: JsonObject): Prompt['output'] {
  const format = asObject(asObject(config.responseFormat).text)
  const schema = config.responseJsonSchema ?? config.responseSchema ?? format.schema
  if (isObject(schema)) return { schema }
  return config.responseMimeType === 'application/json' || format.mimeType === 'APPLICATION_JSON' ? 'json' : 'text'
}

/** Returns the cacheable segments: whole contents are cached automatically. */
function segmentsOf(request: JsonObject, contents: readonly JsonObject[]): Segment[] {
  const segments: Segment[] = []
  const add = (value: Json, tokens: number): void => {
    segments.push({ text: JSON.stringify(value), tokens, mark: '5m' })
  }
  if (request.tools !== undefined) add(request.tools, countTokens(JSON.stringify(request.tools)))
  const system = asObject(request.systemInstruction)
  if (partsOf(system).length > 0)
    add(
      system,
      partsOf(system).reduce((sum, part) => sum + partTokens(part), messageTokens),
    )
  for (const content of contents) {
    add(
      content,
      partsOf(content).reduce((sum, part) => sum + partTokens(part), messageTokens),
    )
  }
  return segments
}

function partTokens(part: JsonObject): number {
  if (typeof part.text === 'string') return countTokens(part.text)
  if (isObject(part.inlineData) || isObject(part.fileData)) return mediaTokens
  const { thoughtSignature: _seal, ...rest } = part
  return countTokens(JSON.stringify(rest))
}
