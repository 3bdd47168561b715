/** As in the contract. */
export type DeployKeyState = 'wanted' | 'present' | 'by-hand' | 'refused' | 'removing' | 'removed';
