import type { Json, JsonObject } from '../../base/json.ts'
import { asObject, asString, isObject } from '../../base/json.ts'
import type { WireError } from '../../wire/errors.ts'
import { createSealStyle, type Seals } from '../seals.ts'

/** Base64 that begins with `E`, as the real signatures do. */
export const anthropicSealStyle = createSealStyle('thinking', { letters: 'E' })

/** Allowed fields of each block from a client; others are rejected. Blocks of server tools are not checked. */
const fields: Readonly<Record<string, string>> = {
  text: 'type text cache_control citations',
  image: 'type source cache_control',
  document: 'type source cache_control citations context title',
  search_result: 'type source title content citations cache_control',
  tool_use: 'type id name input cache_control caller',
  tool_result: 'type tool_use_id content is_error cache_control',
  thinking: 'type thinking signature',
  redacted_thinking: 'type data',
  tool_reference: 'type tool_name cache_control',
}
const required: Readonly<Record<string, string>> = {
  text: 'text',
  image: 'source',
  document: 'source',
  tool_use: 'id name input',
  tool_result: 'tool_use_id',
  thinking: 'thinking signature',
  redacted_thinking: 'data',
}
const serverBlocks =
  /^(server_tool_use|container_upload|compaction|fallback|mcp_tool_use|mcp_tool_result|advisor_tool_result|tool_addition|tool_removal|[a-z_]+_tool_result)$/
const allowedIn: Readonly<Record<string, readonly string[]>> = {
  system: ['text', 'server'],
  user: ['text', 'image', 'document', 'search_result', 'tool_result', 'server'],
  assistant: ['text', 'thinking', 'redacted_thinking', 'tool_use', 'server'],
  tool_result: ['text', 'image', 'document', 'search_result', 'tool_reference'],
}
const imageTypes = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']

const fault = (message: string): WireError => ({ status: 400, type: 'invalid_request_error', message })

/** Checks the blocks at `at` as part of a `place`: a role, `system` or `tool_result`. */
export function checkBlocks(blocks: readonly Json[], at: string, place: string, seals: Seals): WireError | undefined {
  for (const [index, block] of blocks.entries()) {
    const here = `${at}.${index}`
    if (!isObject(block)) return fault(`${here}: Input should be a valid dictionary or object to extract fields from`)
    const error = checkBlock(block, here, place, seals)
    if (error) return error
  }
  return undefined
}

function checkBlock(block: JsonObject, at: string, place: string, seals: Seals): WireError | undefined {
  const type = asString(block.type)
  if (block.type === undefined) return fault(`${at}.type: Field required`)
  const known = fields[type]
  const allowed = allowedIn[place] ?? []
  if (known === undefined ? !(serverBlocks.test(type) && allowed.includes('server')) : !allowed.includes(type)) {
    if (known !== undefined && (place === 'user' || place === 'assistant')) {
      return fault(`${at}: \`${type}\` blocks are not permitted in \`${place}\` messages`)
    }
    const tags = allowed.filter((one) => one !== 'server').map((one) => `'${one}'`)
    return fault(
      `${at}: Input tag '${type}' found using 'type' does not match any of the expected tags: ${tags.join(', ')}`,
    )
  }
  if (known === undefined) return undefined
  const lacking = (required[type] ?? '').split(' ').find((field) => field !== '' && block[field] === undefined)
  if (lacking !== undefined) return fault(`${at}.${type}.${lacking}: Field required`)
  const extra = Object.keys(block).find((key) => !known.split(' ').includes(key))
  if (extra !== undefined) return fault(`${at}.${type}.${extra}: Extra inputs are not permitted`)
  return checkValue(block, at, type, seals)
}

function checkValue(block: JsonObject, at: string, type: string, seals: Seals): WireError | undefined {
  switch (type) {
    case 'text':
      if (typeof block.text !== 'string') return fault(`${at}.text.text: Input should be a valid string`)
      return block.text === '' ? fault(`messages: text content blocks must be non-empty`) : undefined
    case 'image':
    case 'document':
      return checkSource(asObject(block.source), `${at}.${type}.source`, type)
    case 'tool_use':
      if (!isObject(block.input)) return fault(`${at}.tool_use.input: Input should be a valid dictionary`)
      if (!/^[a-zA-Z0-9_-]+$/.test(asString(block.id))) {
        return fault(`${at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`)
      }
      return undefined
    case 'tool_result':
      return Array.isArray(block.content)
        ? checkBlocks(block.content, `${at}.content`, 'tool_result', seals)
        : undefined
    case 'thinking':
      return seals.verify(anthropicSealStyle, asString(block.thinking), asString(block.signature))
        ? undefined
        : fault(`${at}: Invalid \`signature\` in \`thinking\` block`)
    case 'redacted_thinking':
      return seals.verifyRedacted(anthropicSealStyle, asString(block.data))
        ? undefined
        : fault(`${at}: Invalid \`data\` in \`redacted_thinking\` block`)
    default:
      return undefined
  }
}

function checkSource(source: JsonObject, at: string, type: 'image' | 'document'): WireError | undefined {
  const tags = type === 'image' ? ['base64', 'file', 'url'] : ['base64', 'content', 'file', 'text', 'url']
  const tag = asString(source.type)
  if (!tags.includes(tag)) {
    return fault(
      `${at}: Input tag '${tag}' found using 'type' does not match any of the expected tags: ${tags.map((one) => `'${one}'`).join(', ')}`,
    )
  }
  if (tag === 'base64') {
    if (type === 'image' && !imageTypes.includes(asString(source.media_type))) {
      return fault(`${at}.base64.media_type: Input should be ${imageTypes.map((one) => `'${one}'`).join(', ')}`)
    }
    if (type === 'document' && source.media_type !== 'application/pdf') {
      return fault(`${at}.base64.media_type: Input should be 'application/pdf'`)
    }
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(asString(source.data))) return fault(`${at}.base64.data: Invalid base64 data`)
  }
  if (tag === 'text' && source.media_type !== 'text/plain') {
    return fault(`${at}.text.media_type: Input should be 'text/plain'`)
  }
  if (tag === 'url' && !/^https?:/.test(asString(source.url)))
    return fault(`${at}.url.url: Only HTTP and HTTPS URLs are supported.`)
  return undefined
}
