import type { JsonObject } from '../../base/json.ts'
import { asList, asObject, asString, isObject } from '../../base/json.ts'
import type { WireError } from '../../wire/errors.ts'
import type { CheckContext } from '../dialect.ts'
import { checkContents, checkOrder } from './check-contents.ts'
import { invalidArgument } from './errors.ts'
import { geminiRequestOf } from './read.ts'
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
