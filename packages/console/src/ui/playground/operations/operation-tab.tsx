import type { ComponentType } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import { modelsFor } from '../call/models.ts'
import { Inspector } from '../inspect/inspector.tsx'
import { focusInspector, focusSettings, InspectorPane, Panes } from '../panes.tsx'
import { Area } from '../settings/area.tsx'
import { ModelField } from '../settings/model-field.tsx'
import { SettingsFrame } from '../settings/settings-frame.tsx'
import { createDraft } from './drafts.ts'
import type { Operation, OperationDraft, OperationTabProps, Wrongs } from './operation.ts'
import { readRequest } from './read-request.ts'
import { RequestForm } from './request-form.tsx'
import { RunView } from './run-view.tsx'
import { createRuns } from './runs.ts'
import { createValue, useValue } from './value.ts'

/** Creates the tab of an operation. Its inputs and calls outlive it: they are there when it is opened again. */
export function operationTab<D extends OperationDraft>(operation: Operation<D>): ComponentType<OperationTabProps> {
  const { id, title, about, needs, what, Inputs, Settings, Result, snippets } = operation
  const drafts = createDraft(operation)
  const inputFiles = createValue<readonly File[]>([])
  const calls = createRuns(id, operation.apis)

  return function Tab({ gateway, frame, wide, onWide, narrow, wanted, onOpen }) {
    const draft = useValue(drafts)
    const files = useValue(inputFiles)
    const { runs, isLost } = useValue(calls)
    const [inspectedId, setInspectedId] = useState<string>()
    const { checked, isOpen, kept } = frame
    const models = useMemo(() => modelsOf(checked, needs), [checked])
    const onDraft = (more: Partial<D>): void => drafts.set({ ...drafts.get(), ...more })
    const selectModel = (model: string): void => drafts.set({ ...drafts.get(), model })
    useEffect(() => {
      if (wanted.model !== undefined) selectModel(wanted.model)
      if (wanted.files !== undefined) inputFiles.set(wanted.files)
    }, [wanted])
    useEffect(() => {
      const [first] = models
      if (first !== undefined && drafts.get().model === '') selectModel(first.id)
    }, [models])

    const running = runs.some(({ exchange }) => exchange.outcome === 'running')
    useEffect(() => {
      if (!running) return undefined
      const pressed = (event: KeyboardEvent): void => {
        if (event.key === 'Escape') calls.stop()
      }
      addEventListener('keydown', pressed)
      return () => removeEventListener('keydown', pressed)
    }, [running])

    const current = useMemo(() => readRequest(operation, draft, files), [draft, files])
    const inspected = runs.find((run) => run.id === inspectedId) ?? runs[0]
    const fields = {
      draft,
      wrongs: current.wrongs,
      onDraft,
      files,
      onFiles: (next: readonly File[]) => inputFiles.set(next),
    }
    const settings = (
      <SettingsFrame {...frame} key="settings" summary={draft.model || 'No model yet'}>
        <ModelField
          models={models}
          model={draft.model}
          {...(checked.state === 'good' ? { left: { count: checked.models.length - models.length, what } } : {})}
          onChange={selectModel}
        />
        <Settings {...fields} />
        <Area
          id="extra"
          label="Extra JSON"
          value={draft.extra}
          hint="Merged into the request."
          wrong={current.wrongs.extra}
          onInput={(extra) => drafts.set({ ...drafts.get(), extra })}
        />
      </SettingsFrame>
    )
    return (
      <Panes tab={id} wide={wide}>
        {narrow ? null : settings}
        <section class="pane operation" key="operation" aria-labelledby="operation">
          <div class="pane-head">
            <h2 id="operation">{title}</h2>
            {narrow ? (
              <Button
                small
                look="quiet"
                onClick={() => {
                  frame.onOpen(true)
                  focusSettings()
                }}
              >
                Settings
              </Button>
            ) : null}
            <Button small look="quiet" disabled={runs.length === 0} onClick={calls.clear}>
              Clear results
            </Button>
          </div>
          <RequestForm
            action={operation.action}
            request={current.request}
            api={current.api}
            blockedReason={blockedReason(draft, { isOpen, wrongs: current.wrongs, missing: current.missing })}
            running={running}
            base={gateway}
            withToken={kept.token !== ''}
            snippets={snippets}
            onExample={operation.example === undefined ? undefined : () => onDraft(operation.example ?? {})}
            onSend={() => {
              setInspectedId(undefined)
              const { api, request } = current
              void calls.start({ api, request, model: draft.model.trim(), gateway, token: kept.token })
            }}
            onStop={calls.stop}
          >
            <Inputs {...fields} />
          </RequestForm>
          {isLost ? <p class="hint">The browser has no room for these results: a reload removes them.</p> : null}
          {runs.length === 0 ? (
            <p class="operation-about">{about}</p>
          ) : (
            <ol class="runs" aria-label="Results">
              {runs.map((run, at) => (
                <RunView
                  key={run.id}
                  run={run}
                  isNewest={at === 0}
                  isInspected={runs.length > 1 && run === inspected}
                  Result={Result}
                  onOpen={onOpen}
                  onInspect={() => {
                    setInspectedId(run.id)
                    focusInspector()
                  }}
                />
              ))}
            </ol>
          )}
          <p class="out-of-sight" role="status">
            {announced(runs[0]?.exchange.outcome)}
          </p>
        </section>
        {narrow ? settings : null}
        <InspectorPane key="request" wide={wide} onWide={onWide}>
          <Inspector
            exchange={inspected?.exchange}
            facts={inspected?.facts}
            base={gateway}
            token={kept.token}
            // Only requests of chat are explained.
            canExplain={false}
            snippets={snippets}
          />
        </InspectorPane>
      </Panes>
    )
  }
}

/** Lists the models that fit. Models of one purpose come first: a name that says nothing is offered for everything. */
function modelsOf(checked: OperationTabProps['frame']['checked'], needs: Operation<OperationDraft>['needs']) {
  if (checked.state !== 'good') return []
  const fitting = new Set(needs.flatMap((need) => modelsFor(checked.models, need)))
  return checked.models.filter((model) => fitting.has(model)).sort((a, b) => a.operations.length - b.operations.length)
}

/** Returns the reason why nothing can be sent. */
function blockedReason(
  { model }: OperationDraft,
  { isOpen, wrongs, missing }: { isOpen: boolean; wrongs: Wrongs; missing: string | undefined },
): string | undefined {
  if (model.trim() === '') return isOpen ? 'Choose a model first.' : 'Paste a token, check it and choose a model first.'
  return Object.keys(wrongs).length > 0 ? 'Correct the settings first.' : missing
}

const announced = (outcome: 'running' | 'finished' | 'stopped' | 'failed' | undefined): string =>
  // Errors are announced separately.
  outcome === undefined || outcome === 'failed'
    ? ''
    : { running: 'The call is running.', finished: 'The result has arrived.', stopped: 'Stopped.' }[outcome]
