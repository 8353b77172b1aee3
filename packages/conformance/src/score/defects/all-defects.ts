import type { Defect } from './defect.ts'
import { errorDefects } from './error-defects.ts'
import { modelDefects } from './model-defects.ts'
import { operationDefects } from './operation-defects.ts'
import { requestDefects } from './request-defects.ts'
import { responseDefects } from './response-defects.ts'

/** Known server defects with the checks that must detect them. */
export const defects: readonly Defect[] = [
  ...requestDefects,
  ...responseDefects,
  ...errorDefects,
  ...operationDefects,
  ...modelDefects,
]
