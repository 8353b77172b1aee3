import type { ModelDescription } from '@modelgate/core'
import type { ComponentType } from 'preact'
import type { Api, JsonObject } from '../formats/format.ts'
import type { AsCode, Snippet } from '../inspect/as-code.ts'
import type { TabProps } from '../panes.tsx'
import type { Run } from './run.ts'
import type { OpenTab, OperationId, ShownTab } from './tabs.ts'

/** The settings and inputs of a tab as typed, valid or not. They are stored as JSON; files are not part of them. */
export interface OperationDraft {
  readonly model: string
  /** JSON that is merged into the request, or empty. */
  readonly extra: string
}

/** Errors of fields, by their names in the draft. */
export type Wrongs = Readonly<Record<string, string>>

/** A request without its model and extra fields. */
export interface ReadDraft {
  readonly path: string
  /** Without the model. */
  readonly body: JsonObject
  /** Present: the request is a form. */
  readonly files?: readonly { readonly field: string; readonly file: File }[]
  readonly wrongs: Wrongs
  /** Instruction that the user has to follow before the request can be sent: `Enter a prompt.` */
  readonly missing?: string | undefined
}

export interface FieldsProps<D extends OperationDraft> {
  draft: D
  wrongs: Wrongs
  onDraft: (more: Partial<D>) => void
  /** Files of the input. */
  files: readonly File[]
  onFiles: (files: readonly File[]) => void
}

export interface ResultProps {
  run: Run
  onOpen: OpenTab
}

/** How the requests of an operation are built, and written as code. */
export interface OperationCalls<D extends OperationDraft> {
  readonly firstDraft: D
  /** The APIs of its requests. */
  readonly apis: readonly [Api, ...Api[]]
  api(draft: D, files: readonly File[]): Api
  read(draft: D, files: readonly File[]): ReadDraft
  /** Writes a request as code. */
  snippets(call: AsCode): readonly Snippet[]
}

/** A tab of the Playground: how its request is entered and built, and how its result is shown. */
export interface Operation<D extends OperationDraft> extends OperationCalls<D> {
  readonly id: OperationId
  readonly title: string
  /** Shown until the first call. */
  readonly about: string
  /** A model fits if it supports one of them. */
  readonly needs: readonly ModelDescription['operations'][number][]
  /** Name of the operation, for the message about a model that does not support it: `embeddings`. */
  readonly what: string
  /** Label of the button that makes the call. */
  readonly action: string
  /** Fills in an example. Absent: there is none. */
  readonly example?: Partial<D>
  /** The inputs above the results. */
  readonly Inputs: ComponentType<FieldsProps<D>>
  /** The settings in their pane. */
  readonly Settings: ComponentType<FieldsProps<D>>
  /** A result, also while it grows. Not shown for a failed call. */
  readonly Result: ComponentType<ResultProps>
}

export interface OperationTabProps extends TabProps {
  /** Content that a link or another tab filled in. */
  wanted: ShownTab
  onOpen: OpenTab
}
