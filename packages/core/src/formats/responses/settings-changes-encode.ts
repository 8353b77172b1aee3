import { isObject } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { CodecContext } from '../codec.ts'
import type { ModelRequest, SettingsChange } from '../ir.ts'
import { pointer } from '../shared/pointer.ts'
import { loss, ownExtra } from '../shared/report.ts'
import type { Nothing } from '../shared/strict.ts'
import { isOwnClient } from './fields.ts'
import { encodeFormat } from './text-format.ts'
import { encodeTools } from './tools.ts'

/** The changes of one turn as items: settings in one, tools in one for each change. */
export function encodeChanges(
  changes: readonly SettingsChange[],
  request: ModelRequest,
  context: CodecContext,
): JsonObject[] {
  const items: JsonObject[] = []
  let settings: JsonObject | undefined
  for (const change of changes) {
    const { effort, format, addedTools, removedTools: _removed, at = '', cache, extra, ...rest } = change
    rest satisfies Nothing
    if (cache !== undefined)
      context.report.add(
        loss(pointer(at, 'cache_control'), 'a cache hint has no form in responses', 'unsupported', 'note'),
      )
    const own = ownExtra(extra, 'responses', at, context.report)
    if (addedTools !== undefined) {
      const tools = encodeTools(addedTools, isOwnClient(request), context)
      if (tools.length > 0) items.push({ role: 'developer', ...own, type: 'additional_tools', tools })
      continue
    }
    const { reasoning, text, ...others } = own ?? {}
    if (settings === undefined) {
      settings = { type: 'configuration_update' }
      items.push(settings)
    }
    Object.assign(settings, others)
    if (effort !== undefined || isObject(reasoning))
      settings.reasoning = {
        ...(isObject(reasoning) ? reasoning : undefined),
        ...(effort === undefined ? {} : { effort }),
      }
    if (format !== undefined || isObject(text)) {
      const kept = isObject(text) ? text : {}
      const beside = isObject(kept.format) ? kept.format : {}
      settings.text = {
        ...kept,
        ...(format === undefined ? {} : { format: encodeFormat(format, beside, request, context) }),
      }
    }
  }
  return items
}
