import { asList, asObject, asString, isObject, type JsonObject } from '../../base/json.ts'
import type { WireError } from '../../wire/errors.ts'
import type { CheckContext } from '../dialect.ts'
import { createSealStyle, type Seals } from '../seals.ts'
import { invalidArgument } from './errors.ts'
import { geminiRequestOf, modelTurns, partsOf } from './read.ts'
import { readGeminiJson } from './read-json.ts'

/** Returns Google's error for an invalid request, or undefined. */
export function checkGemini(body: JsonObject, { route, seals }: CheckContext): WireError | undefined {
  const counting = route.operation === 'count-tokens'
  const { error } = readGeminiJson(body, counting ? 'CountTokensRequest' : 'GenerateContentRequest')
  if (error) return error
  const request = geminiRequestOf(body, route)
  if (counting && body.contents !== undefined && isObject(body.generateContentRequest)) {
    return invalidArgument("Exactly one of 'contents' and 'generate_content_request' must be set.")
  }
  const found = checkContents(request, seals)
  if (found || counting) return found
  return checkOrder(request, route.model ?? '') ?? checkConfig(request) ?? checkTools(request)
}

const wrong = (field: string, words: string): WireError =>
  invalidArgument(`* GenerateContentRequest.${field}: ${words}\n`)

function checkConfig(request: JsonObject): WireError | undefined {
  const config = asObject(request.generationConfig)
  for (const [name, snake, least, most] of [
    ['temperature', 'temperature', 0, 2],
    ['topP', 'top_p', 0, 1],
  ] as const) {
    const value = config[name]
    if (typeof value !== 'number' || (value >= least && value <= most)) continue
    return wrong(
      `generation_config.${snake}`,
      `${snake} must be in the range [${least.toFixed(1)}, ${most.toFixed(1)}].`,
    )
  }
  for (const [name, snake, most] of [
    ['topK', 'top_k', undefined],
    ['maxOutputTokens', 'max_output_tokens', undefined],
    ['candidateCount', 'candidate_count', 8],
  ] as const) {
    const value = config[name]
    if (typeof value !== 'number' || (value >= 1 && value <= (most ?? value))) continue
    const words = most === undefined ? `${snake} must be positive.` : `${snake} must be in the range [1, ${most}].`
    return wrong(`generation_config.${snake}`, words)
  }
  const stops = asList(config.stopSequences)
  if (stops.length > 5) {
    return wrong('generation_config.stop_sequences', 'at most 5 stop sequences may be specified.')
  }
  if (config.responseSchema !== undefined && config.responseJsonSchema !== undefined) {
    return wrong(
      'generation_config.response_json_schema',
      'only one of response_schema and response_json_schema may be set.',
    )
  }
  const mime = config.responseMimeType
  const shaped = config.responseSchema ?? config.responseJsonSchema
  if (shaped !== undefined && mime !== 'application/json' && mime !== 'text/x.enum') {
    const words = 'only allowed when response_mime_type is application/json.'
    return wrong(
      `generation_config.${config.responseSchema === undefined ? 'response_json_schema' : 'response_schema'}`,
      words,
    )
  }
  if (mime !== undefined && !['text/plain', 'application/json', 'text/x.enum', ''].includes(asString(mime))) {
    const words = `allowed mimetypes are \`text/plain\`, \`application/json\`, \`application/xml\`, \`application/yaml\` and \`text/x.enum\`.`
    return wrong('generation_config.response_mime_type', words)
  }
  if (config.logprobs !== undefined && config.responseLogprobs !== true) {
    return invalidArgument('Logprobs must be enabled with response_logprobs before logprobs is set.')
  }
  const thinking = asObject(config.thinkingConfig)
  const level = asString(thinking.thinkingLevel, 'THINKING_LEVEL_UNSPECIFIED')
  if (thinking.thinkingBudget !== undefined && level !== 'THINKING_LEVEL_UNSPECIFIED') {
    return invalidArgument('You can only set only one of thinking budget and thinking level.')
  }
  return undefined
}

function checkTools(request: JsonObject): WireError | undefined {
  const names: string[] = []
  for (const [index, tool] of asList(request.tools).map(asObject).entries()) {
    for (const [place, value] of asList(tool.functionDeclarations).entries()) {
      const at = `tools[${index}].function_declarations[${place}]`
      const declaration = asObject(value)
      const name = asString(declaration.name)
      if (!/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/.test(name)) {
        return wrong(
          `${at}.name`,
          '[FIELD_INVALID] Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.',
        )
      }
      if (names.includes(name)) return invalidArgument(`Duplicate function declaration found: ${name}`)
      names.push(name)
      if (declaration.parameters !== undefined && declaration.parametersJsonSchema !== undefined) {
        return wrong(at, 'only one of parameters and parameters_json_schema may be set.')
      }
      const words = schemaError(asObject(declaration.parameters))
      if (words !== undefined) return wrong(`${at}.parameters${words.at}`, words.words)
    }
  }
  const calling = asObject(asObject(request.toolConfig).functionCallingConfig)
  const allowed = asList(calling.allowedFunctionNames)
  if (names.length === 0 && (calling.mode === 'ANY' || calling.mode === 'VALIDATED' || allowed.length > 0)) {
    return invalidArgument('Function calling config is set without function_declarations.')
  }
  const stranger = allowed.find((name) => !names.includes(asString(name)))
  if (stranger !== undefined) {
    return invalidArgument(`allowed_function_names: ${asString(stranger)} is not among the function declarations.`)
  }
  if (allowed.length > 0 && calling.mode !== 'ANY' && calling.mode !== 'VALIDATED') {
    return invalidArgument('Allowed function names may only be set when function calling mode is ANY or VALIDATED.')
  }
  return undefined
}

/** Checks Google's own schema dialect: arrays have `items`, and required properties exist. */
function schemaError(schema: JsonObject): { at: string; words: string } | undefined {
  const properties = asObject(schema.properties)
  if (schema.type === 'ARRAY' && schema.items === undefined) return { at: '.items', words: 'missing field.' }
  const { required } = schema
  if (Array.isArray(required) && schema.properties !== undefined) {
    const index = required.findIndex((name) => properties[asString(name)] === undefined)
    if (index >= 0) return { at: `.required[${index}]`, words: 'property is not defined' }
  }
  for (const [name, inner] of Object.entries(properties)) {
    const found = schemaError(asObject(inner))
    if (found) return { at: `.properties[${name}]${found.at}`, words: found.words }
  }
  const found = isObject(schema.items) ? schemaError(schema.items) : undefined
  return found && { at: `.items${found.at}`, words: found.words }
}

/** Base64 of bytes that begin like an encoded message, as the real signatures do. */
export const googleSealStyle = createSealStyle('thought', { bytes: '\n' })

/** Signatures that Google documents for histories no Gemini model wrote: they replace any signature. */
const bypassSignatures = ['skip_thought_signature_validator', 'context_engineering_is_the_way_to_go']

/** Models before the third generation do not require signatures. */
const modelsWithoutSignatures = /^(models\/)?gemini-[12]/

/** Checks each content: role, parts and signatures. */
function checkContents(request: JsonObject, seals: Seals): WireError | undefined {
  const contents = asList(request.contents).map(asObject)
  if (contents.length === 0) return invalidArgument('* GenerateContentRequest.contents: contents is not specified\n')
  for (const [index, content] of contents.entries()) {
    const at = `contents[${index}]`
    const role = asString(content.role)
    if (!['', 'user', 'model', 'function'].includes(role)) {
      return invalidArgument('Please use a valid role: user, model.')
    }
    const parts = partsOf(content)
    if (parts.length === 0) {
      return invalidArgument(`* GenerateContentRequest.${at}.parts: contents.parts must not be empty.\n`)
    }
    for (const [place, part] of parts.entries()) {
      const error = checkPart(part, `${at}.parts[${place}]`, seals)
      if (error) return error
    }
  }
  return undefined
}

const data = [
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
  'toolCall',
  'toolResponse',
]

function checkPart(part: JsonObject, at: string, seals: Seals): WireError | undefined {
  const filled = data.filter((name) => part[name] !== undefined)
  if (filled.length > 1) {
    return invalidArgument(
      `Invalid value at '${at}' (oneof), oneof field 'data' is already set. Cannot set '${filled[1]}'`,
    )
  }
  const seal = part.thoughtSignature
  if (filled.length === 0 && Object.keys(part).every((name) => name === 'thought')) {
    return invalidArgument(
      `* GenerateContentRequest.${at}.data: required oneof field 'data' must have one initialized field\n`,
    )
  }
  if (isObject(part.inlineData) && asString(part.inlineData.mimeType) === '') {
    return invalidArgument(`* GenerateContentRequest.${at}.inline_data.mime_type: mime_type is required.\n`)
  }
  for (const [name, snake] of [
    ['functionCall', 'function_call'],
    ['functionResponse', 'function_response'],
  ] as const) {
    const value = part[name]
    if (isObject(value) && asString(value.name) === '') {
      const words = `* GenerateContentRequest.${at}.${snake}.name: Name cannot be empty.\n`
      return invalidArgument(words)
    }
  }
  if (typeof seal !== 'string' || bypassSignatures.includes(seal)) return undefined
  const bound = isObject(part.functionCall) ? asString(part.functionCall.name) : ''
  return seals.verify(googleSealStyle, bound, seal) ? undefined : invalidArgument('Corrupted thought signature.')
}

/**
 * Checks the order of calls and results in a conversation. Token counting accepts any part of one, so it is not checked there.
 */
function checkOrder(request: JsonObject, model: string): WireError | undefined {
  const contents = modelTurns(asList(request.contents).map(asObject))
  return checkAnswers(contents, model) ?? checkMissing(request, contents, model)
}

/** Requires calls to follow a user text or a tool result, and results for all of them in the next turn. */
function checkAnswers(contents: readonly JsonObject[], model: string): WireError | undefined {
  let open = 0
  let before = ''
  for (const content of contents) {
    const parts = partsOf(content)
    const calls = parts.filter((part) => isObject(part.functionCall)).length
    const answers = parts.filter((part) => isObject(part.functionResponse)).length
    if (answers > 0 && open === 0) {
      const words = 'Please ensure that function response turn comes immediately after a function call turn.'
      return invalidArgument(words)
    }
    // Results may be spread over several consecutive contents.
    if (answers > open) return unevenResults
    if (open > 0 && answers === 0) {
      if (!modelsWithoutSignatures.test(model)) return unevenResults
      open = 0
    }
    if (calls > 0 && before === '') {
      const words =
        'Please ensure that function call turn comes immediately after a user turn or after a function response turn.'
      return invalidArgument(words)
    }
    open += calls - answers
    before = asString(content.role, 'user')
  }
  return undefined
}

const unevenResults = invalidArgument(
  'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
)

/** Requires the signature on the first call of each step of the current turn, if thinking was requested. */
function checkMissing(request: JsonObject, contents: readonly JsonObject[], model: string): WireError | undefined {
  const thinking = asObject(asObject(request.generationConfig).thinkingConfig)
  const thinks = Object.keys(thinking).length > 0 && thinking.thinkingBudget !== 0
  if (!thinks || modelsWithoutSignatures.test(model)) return undefined
  const start = contents.findLastIndex(
    (content) => content.role !== 'model' && !partsOf(content).some((part) => isObject(part.functionResponse)),
  )
  for (const [index, content] of contents.entries()) {
    if (index < start || content.role !== 'model') continue
    const first = partsOf(content).find((part) => isObject(part.functionCall))
    if (!first || first.thoughtSignature !== undefined) continue
    const name = asString(asObject(first.functionCall).name)
    return invalidArgument(
      `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${name}\` , position ${index + 1}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.`,
    )
  }
  return undefined
}
