import { loss } from '../../formats/shared/report.ts'
import type { TargetContext } from '../operation.ts'
import type { EmbeddingsRequest, SettingName, Task } from './request.ts'

/** An upstream's words for tasks: its own, or `[the nearest, and nothing more]`. */
export type TaskWords = { readonly [T in Task]?: string | readonly [nearest: string] }

/** The upstream's word for what the vectors are for. What it has no exact word for is reported. */
export function taskWord({ task, at }: EmbeddingsRequest, words: TaskWords, { report }: TargetContext) {
  if (task === undefined) return undefined
  const word = words[task]
  if (typeof word === 'string') return word
  const [nearest] = word ?? []
  report.add(
    nearest === undefined
      ? loss(at.task ?? '', `the upstream does not tune embeddings to ${task}`)
      : loss(at.task ?? '', `the upstream's nearest word for ${task} is '${nearest}'`, 'approximated'),
  )
  return nearest
}

/** Reports settings that the upstream has no field for. `title` and `user` change little or nothing. */
export function reportSettings(
  request: EmbeddingsRequest,
  names: readonly SettingName[],
  { report }: TargetContext,
): void {
  for (const name of names)
    if (request[name] !== undefined && request.at[name] !== undefined)
      report.add(
        loss(
          request.at[name],
          `${name} has no counterpart in the upstream's dialect`,
          'unsupported',
          name === 'user' ? 'note' : 'warn',
        ),
      )
}

/** Whether inputs that are too long are cut, for upstreams that cut at the end or not at all. */
export function cutsAtEnd({ truncate, at }: EmbeddingsRequest, { report }: TargetContext): boolean | undefined {
  if (truncate === undefined) return undefined
  if (truncate === 'start')
    report.add(loss(at.truncate ?? '', 'the upstream cuts texts at their end, not at their start', 'approximated'))
  return truncate !== 'none'
}
