import { mergeFields } from '../formats/build-request.ts'
import type { Api, ApiRequest } from '../formats/format.ts'
import { objectIn } from '../settings/draft.ts'
import type { Operation, OperationDraft, Wrongs } from './operation.ts'

export interface CurrentRequest {
  readonly api: Api
  readonly request: ApiRequest
  readonly wrongs: Wrongs
  readonly missing: string | undefined
}

/** Builds the request of a draft. It may be sent only if there are no errors and nothing is missing. */
export function readRequest<D extends OperationDraft>(
  operation: Pick<Operation<D>, 'api' | 'read'>,
  draft: D,
  inputFiles: readonly File[],
): CurrentRequest {
  const { path, body, files, wrongs, missing } = operation.read(draft, inputFiles)
  const extra = objectIn(draft.extra)
  return {
    api: operation.api(draft, inputFiles),
    request: {
      path,
      headers: files === undefined ? { 'content-type': 'application/json' } : {},
      body: mergeFields({ model: draft.model.trim(), ...body }, extra === 'wrong' ? {} : (extra ?? {})),
      ...(files === undefined ? {} : { files }),
    },
    wrongs: extra === 'wrong' ? { ...wrongs, extra: 'Enter a JSON object.' } : wrongs,
    missing,
  }
}
