import { type JsonObject, put } from '../../base/json/json.ts'
import { enforce } from '../chat/strict-schema.ts'
import type { CodecContext } from '../codec.ts'
import type { ModelRequest, Nothing, Output } from '../ir.ts'
import { putBack, takeBoolean, takeObject, takeString, type Unread, unread } from '../shared/json-fields.ts'
import { fieldPointer, loss } from '../shared/report.ts'
import { meaningfulFields } from './content.ts'
import { isResponsesClient } from './fields.ts'

/** Decodes `format` of a `text` object, and removes it from `text`. */
export function decodeFormat(text: Unread, output: Output): void {
  const format = takeObject(text, 'format')
  if (format === undefined) return
  const fields = unread(format)
  const type = takeString(fields, 'type')
  if (type === 'text') output.format = { type }
  else if (type === 'json_object') output.format = { type: 'json' }
  else if (type === 'json_schema') {
    const json: Extract<NonNullable<Output['format']>, { type: 'json' }> = { type: 'json' }
    put(json, 'name', takeString(fields, 'name'))
    put(json, 'description', takeString(fields, 'description'))
    put(json, 'schema', takeObject(fields, 'schema'))
    put(json, 'strict', takeBoolean(fields, 'strict'))
    output.format = json
  } else {
    putBack(text, 'format', format)
    return
  }
  const rest = meaningfulFields(fields)
  if (rest !== undefined) putBack(text, 'format', rest)
}

/**
 * Encodes an output format as `format` of a `text` object.
 *
 * @param own fields that only this format knows
 */
export function encodeFormat(
  format: NonNullable<Output['format']>,
  own: JsonObject,
  request: ModelRequest,
  { report }: CodecContext,
): JsonObject {
  if (format.type === 'text') return { ...own, type: 'text' }
  const at = fieldPointer('output.format', request.at, undefined)
  const { type: _, schema, name, description, strict, ...rest } = format
  rest satisfies Nothing
  if (schema === undefined && name === undefined) return { ...own, type: 'json_object' }
  if (name === undefined) report.add(loss(at, "a schema needs a name: 'response' is sent", 'approximated', 'note'))
  const out: JsonObject = { ...own, type: 'json_schema', name: name ?? 'response' }
  put(out, 'description', description)
  const enforced = isResponsesClient(request)
    ? { schema, strict }
    : enforce(schema, strict, at, (detail, severity) => report.add(loss(at, detail, 'approximated', severity)))
  put(out, 'schema', enforced.schema)
  put(out, 'strict', enforced.strict)
  return out
}
