import type { Report, Tool, ToolChoice } from '../ir.ts'
import { loss } from './report.ts'

/**
 * The tools that a model may choose from, for formats without a list of allowed tools: the others are not offered, which comes to the
 * same. Each of them is reported.
 */
export function offeredTools(
  list: readonly Tool[],
  choice: ToolChoice & { readonly allowed: readonly string[] },
  report: Report,
): Tool[] {
  const allowed = new Set(choice.allowed)
  return list.filter((tool) => {
    const isOffered = tool.type === 'native' || allowed.has(tool.name)
    if (!isOffered)
      report.add(
        loss(tool.at ?? '/tools', `the tool '${tool.name}' is not allowed, and not offered`, 'unsupported', 'note'),
      )
    return isOffered
  })
}
