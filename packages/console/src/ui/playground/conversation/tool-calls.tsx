import { useState } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import { Code } from '../../parts/code.tsx'
import type { ToolCall, ToolResult } from '../formats/format.ts'
import { ToolIcon } from '../icons.tsx'

export interface ToolCallsProps {
  /** Unique id on the page. */
  readonly id: string
  readonly calls: readonly ToolCall[]
  /** Sends the results that the user entered. Undefined: the calls are only shown. */
  readonly onResults: ((results: readonly ToolResult[]) => void) | undefined
}

/** The tool calls of a response. The Playground executes no tools: the user enters the results. */
export function ToolCalls({ id, calls, onResults }: ToolCallsProps) {
  const [texts, setTexts] = useState<readonly string[]>([])
  const [failures, setFailures] = useState<readonly boolean[]>([])
  if (calls.length === 0) return null
  const replaced = <T,>(list: readonly T[], at: number, value: T, otherwise: T): readonly T[] =>
    calls.map((_, index) => (index === at ? value : (list[index] ?? otherwise)))
  const send = (): void =>
    onResults?.(calls.map((call, at) => ({ call, content: texts[at] ?? '', failed: failures[at] ?? false })))
  return (
    <div class="tool-calls">
      {calls.map((call, at) => (
        <section class="tool-call" key={at} aria-label={`Tool call ${call.name}`}>
          <p class="tool-call-head">
            <ToolIcon />
            <strong>{call.name}</strong>
            {call.id === '' ? null : <code>{call.id}</code>}
          </p>
          <Code text={pretty(call.input)} />
          {onResults === undefined ? null : (
            <div class="tool-call-result">
              <label for={`${id}-result-${at}`}>Result of {call.name}</label>
              <textarea
                id={`${id}-result-${at}`}
                class="input"
                rows={2}
                placeholder="Text or JSON"
                value={texts[at] ?? ''}
                onInput={(event) => setTexts(replaced(texts, at, event.currentTarget.value, ''))}
              />
              <label class="tick">
                <input
                  type="checkbox"
                  checked={failures[at] ?? false}
                  onChange={(event) => setFailures(replaced(failures, at, event.currentTarget.checked, false))}
                />{' '}
                The tool failed
              </label>
            </div>
          )}
        </section>
      ))}
      {onResults === undefined ? null : (
        <div class="tool-calls-send">
          <p class="aside">
            The Playground does not execute tools. Enter the result of each call, or ask something else to leave the
            calls out.
          </p>
          <Button small onClick={send}>
            {calls.length === 1 ? 'Send result' : 'Send results'}
          </Button>
        </div>
      )}
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
