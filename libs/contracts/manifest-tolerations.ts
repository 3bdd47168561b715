import { z } from 'zod';
import { LabelValue, QualifiedName } from './kubernetes-names.js';

/** As core/v1 has it, with what its validation says: https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/ */
export const Toleration = z
  .strictObject({
    key: QualifiedName.optional(),
    operator: z.enum(['Exists', 'Equal']).optional(),
    value: LabelValue.optional(),
    effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']).optional(),
    tolerationSeconds: z
      .int()
      .min(0)
      .max(2 ** 31 - 1)
      .optional(),
  })
  .refine(({ key, operator }) => key !== undefined || operator === 'Exists', {
    path: ['operator'],
    message: 'without a key it has to be Exists',
  })
  .refine(({ operator, value }) => operator !== 'Exists' || value === undefined || value === '', {
    path: ['value'],
    message: 'with the operator Exists there is no value',
  })
  .refine(({ effect, tolerationSeconds }) => tolerationSeconds === undefined || effect === 'NoExecute', {
    path: ['tolerationSeconds'],
    message: 'only with the effect NoExecute',
  });
