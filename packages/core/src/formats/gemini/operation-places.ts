import { modelPlaces, routerPlaces } from '../shared/model-places.ts'

/** The members that name a model in Google's operations other than generation: each request of a batch repeats the path's. */
export const operationPlaces = modelPlaces({
  ...routerPlaces,
  names: [...routerPlaces.names, 'requests[].model'],
  protobuf: true,
})
