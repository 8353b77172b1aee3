import type { JsonObject } from '../../base/json.ts'
import { asList, asObject, asString, isObject } from '../../base/json.ts'
import type { WireError } from '../../wire/errors.ts'
import { createSealStyle, type Seals } from '../seals.ts'
import { invalidArgument } from './errors.ts'
import { modelTurns, partsOf } from './read.ts'

/** Base64 of bytes that begin like an encoded message, as the real signatures do. */
export const googleSealStyle = createSealStyle('thought', { bytes: '\n' })

/** Signatures that Google documents for histories no Gemini model wrote: they replace any signature. */
const bypassSignatures = ['skip_thought_signature_validator', 'context_engineering_is_the_way_to_go']

/** Models before the third generation do not require signatures. */
const modelsWithoutSignatures = /^(models\/)?gemini-[12]/

/** Checks each content: role, parts and signatures. */
export function checkContents(request: JsonObject, seals: Seals): WireError | undefined {
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
export function checkOrder(request: JsonObject, model: string): WireError | undefined {
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
