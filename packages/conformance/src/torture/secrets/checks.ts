import type { Check } from '../check.ts'
import { canaries } from './canaries.ts'
import { chosenHost } from './chosen-host.ts'
import { doors } from './doors.ts'
import { isolation } from './isolation.ts'
import { tokenStore } from './token-store.ts'

export const secretChecks: readonly Check[] = [doors, canaries, tokenStore, chosenHost, isolation]
