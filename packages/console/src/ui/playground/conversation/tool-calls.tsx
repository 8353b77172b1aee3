import { Code } from '../../parts/code.tsx'
import type { ToolCall } from '../formats/format.ts'
import { ToolIcon } from '../icons.tsx'

export function ToolCalls({ calls }: { calls: readonly ToolCall[] }) {
  if (calls.length === 0) return null
  return (
    <div class="calls">
      {calls.map((call, at) => (
        <section class="call" key={at} aria-label={`Call of the tool ${call.name}`}>
          <p class="call-head">
            <ToolIcon />
            <strong>{call.name}</strong>
            {call.id === '' ? null : <code>{call.id}</code>}
          </p>
          <Code text={pretty(call.input)} />
        </section>
      ))}
      <p class="aside">The Playground doesn't execute tools. Later requests omit these calls.</p>
    </div>
  )
}

/** Formats JSON; incomplete or invalid JSON stays as received. */
function pretty(input: string): string {
  try {
    return JSON.stringify(JSON.parse(input), null, 2)
  } catch {
    return input === '' ? '{}' : input
  }
}
